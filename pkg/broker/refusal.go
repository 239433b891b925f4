package broker

import (
	"errors"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// Codes of JetStream's refusals, as nats-server names them.
const (
	jsAccountResourcesExceeded jetstream.ErrorCode = 10002
	jsClusterIncomplete        jetstream.ErrorCode = 10004
	jsClusterNoPeers           jetstream.ErrorCode = 10005
	jsClusterNotAssigned       jetstream.ErrorCode = 10007
	jsClusterNotAvailable      jetstream.ErrorCode = 10008
	jsClusterNotLeader         jetstream.ErrorCode = 10009
	jsInsufficientResources    jetstream.ErrorCode = 10023
	jsNotEnabledForAccount     jetstream.ErrorCode = 10039
	jsRaftGeneral              jetstream.ErrorCode = 10041
	jsStorageExceeded          jetstream.ErrorCode = 10047
	jsNotEnabled               jetstream.ErrorCode = 10076
	jsStreamStoreFailed        jetstream.ErrorCode = 10077
	jsStreamOffline            jetstream.ErrorCode = 10118
	jsTooManyRequests          jetstream.ErrorCode = 10167
)

// isTemporary reports whether the same request may succeed soon: the stream has no leader, or a server starts or stops.
func isTemporary(err error) bool {
	refused, ok := errors.AsType[*jetstream.APIError](err)
	return ok && !isFull(err) && slices.Contains([]jetstream.ErrorCode{
		jsClusterIncomplete, jsClusterNotAssigned, jsClusterNotAvailable, jsClusterNotLeader, jsNotEnabledForAccount, jsRaftGeneral,
		jsNotEnabled, jsStreamStoreFailed, jsStreamOffline, jsTooManyRequests,
	}, refused.ErrorCode)
}

// isFull reports whether a message was refused because a stream, or the storage, has no room for it.
func isFull(err error) bool {
	refused, ok := errors.AsType[*jetstream.APIError](err)
	switch {
	case !ok:
		return false
	case refused.ErrorCode == jsStreamStoreFailed:
		return strings.Contains(refused.Description, "maximum")
	}
	return slices.Contains([]jetstream.ErrorCode{jsAccountResourcesExceeded, jsInsufficientResources, jsStorageExceeded}, refused.ErrorCode)
}

// exceedsStorage reports whether the broker refused a stream because its size exceeds the storage. A cluster lists it among the
// reasons for which no server is suitable. Temporary reasons, such as a server that is offline, do not count.
func exceedsStorage(err error) bool {
	refused, ok := errors.AsType[*jetstream.APIError](err)
	switch {
	case !ok:
		return false
	case refused.ErrorCode == jsClusterNoPeers:
		return strings.Contains(refused.Description, "insufficient storage") && !strings.Contains(refused.Description, "peer offline")
	default:
		return refused.ErrorCode == jsStorageExceeded
	}
}
