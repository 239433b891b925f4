package command

import (
	"sync"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// replies holds *[]byte of released replies with documents.
var replies sync.Pool

// minReply and maxReply bound the size of replies whose memory is reused, in bytes.
const (
	minReply = 1 << 10
	maxReply = 1 << 20
)

// newReply starts a reply with documents in the memory of a released one.
func newReply() *value.Builder {
	if b, ok := replies.Get().(*[]byte); ok {
		return value.BuildIn(*b)
	}
	return value.NewBuilder()
}

// Release gives the memory of a reply to later ones. The caller must not use the reply afterwards.
func Release(reply value.Doc) {
	if cap(reply) >= minReply && cap(reply) <= maxReply {
		b := []byte(reply)
		replies.Put(&b)
	}
}
