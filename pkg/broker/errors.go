package broker

import (
	"errors"
	"fmt"

	"github.com/orch-project/orch/pkg/isolation"
)

var (
	// ErrUnavailable means that the event was not acknowledged: the broker is unreachable, full or too slow, or this
	// process is overloaded. The caller should respond 503. The event may be stored all the same.
	ErrUnavailable = isolation.NewOutage("broker: unavailable")

	// ErrTooLarge means that the event exceeds MaxEventBytes. It was not sent.
	ErrTooLarge = isolation.NewPermanent("broker: event too large")

	// ErrInvalidEvent means that the event cannot be encoded as a CloudEvent. It was not sent.
	ErrInvalidEvent = isolation.NewPermanent("broker: invalid event")

	// ErrClosed means that the owner closed the connection. It matches ErrUnavailable too.
	ErrClosed = fmt.Errorf("%w: closed", ErrUnavailable)

	// ErrRefused is returned by Connect when a server refuses the connection. The message names the remedy.
	ErrRefused = errors.New("broker: the server refused the connection")

	// ErrNoJetStream is returned by Connect when the server or the account has no JetStream. The message names the remedy.
	ErrNoJetStream = errors.New("broker: JetStream is not enabled")

	// ErrLazySync is returned by Connect when a server acknowledges before fsync.
	ErrLazySync = errors.New("broker: the server acknowledges before fsync")

	// ErrSyncUnknown is returned by Connect when the servers do not report whether they fsync before the acknowledgement.
	ErrSyncUnknown = errors.New("broker: the server's sync_interval cannot be verified")

	// ErrMaxPayload is returned by Connect when the server's max_payload is below MinMaxPayload.
	ErrMaxPayload = errors.New("broker: the server's max_payload is too small")

	// ErrStreamMismatch is returned by Connect when a stream exists with settings that break the durability promise.
	ErrStreamMismatch = errors.New("broker: the stream exists with other settings")

	// ErrNotFound is returned for a key or a dead letter that does not exist.
	ErrNotFound = errors.New("broker: not found")
)

// Rejected is returned by a handler of Consume for events that no retry can handle. Each named event is written to the
// dead-letter stream with its own reason; the rest of the batch counts as handled. Keys outside the batch are ignored.
// The zero value is empty. A handler returns Err(), which is nil for an empty value.
type Rejected struct {
	// Reasons has an error for each rejected event.
	Reasons map[Key]error
}

// Reject adds an event and the reason. The first reason of an event stays.
func (r *Rejected) Reject(key Key, reason error) {
	if r.Reasons == nil {
		r.Reasons = map[Key]error{}
	}
	if _, ok := r.Reasons[key]; !ok {
		r.Reasons[key] = reason
	}
}

// Merge adds the events of other, which may be nil.
func (r *Rejected) Merge(other *Rejected) {
	if other == nil {
		return
	}
	for key, reason := range other.Reasons {
		r.Reject(key, reason)
	}
}

// Err returns r, or nil when no event is rejected.
func (r *Rejected) Err() error {
	if len(r.Reasons) == 0 {
		return nil
	}
	return r
}

// Error implements error.
func (r *Rejected) Error() string {
	for _, reason := range r.Reasons {
		return fmt.Sprintf("broker: %d events rejected, one of them: %v", len(r.Reasons), reason)
	}
	return "broker: no events rejected"
}

// Unwrap returns all reasons.
func (r *Rejected) Unwrap() []error {
	reasons := make([]error, 0, len(r.Reasons))
	for _, reason := range r.Reasons {
		reasons = append(reasons, reason)
	}
	return reasons
}
