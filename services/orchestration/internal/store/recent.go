package store

import (
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
)

const (
	// recentKept bounds how many documents a collection remembers, recentSize how large one of them may be, in bytes.
	recentKept = 512
	recentSize = 4 << 10
)

// WriteChain is what ties the writes of one document together for whoever executes their effects: while it is whole, all
// effects in the outbox are in their hands, or done. It breaks when they let one of them go.
type WriteChain struct{ broken atomic.Bool }

// Break says that effects of the document are in the outbox that nobody has in flight.
func (c *WriteChain) Break() {
	if c != nil {
		c.broken.Store(true)
	}
}

// Intact reports whether all effects are in flight. Of nil nothing is known.
func (c *WriteChain) Intact() bool { return c != nil && !c.broken.Load() }

// recent remembers the versions that this process wrote last, so that the next change of a document need not read it.
//
// What is remembered may be old: another process may have written since. It serves for one thing only, a decision that
// is written where the stored revision is still that of the version; then both are the same. Whatever else comes of
// such a decision (nothing is written, or an error) is forgotten, and the document is read.
type recent struct {
	mu       sync.Mutex
	versions map[uuid.UUID]version
	order    []uuid.UUID // A ring: the oldest is at next once it is full.
	next     int
}

// version is a document as it was written. Messages are kept in their wire form: what a caller does to a message
// afterwards does not reach it, and the collector has nothing to follow.
type version struct {
	ws       uuid.UUID
	revision int64
	message  []byte
	chain    *WriteChain
}

// start is the chain of a new document.
func (r *recent) start() *WriteChain {
	if r == nil {
		return nil
	}
	return &WriteChain{}
}

func (r *recent) get(ws, id uuid.UUID) (version, bool) {
	if r == nil {
		return version{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.versions[id]
	return v, ok && v.ws == ws
}

// put remembers a message unless it is large, and forgets the one that was remembered longest.
func (r *recent) put(id uuid.UUID, v version, m proto.Message) {
	if r == nil {
		return
	}
	message, err := proto.Marshal(m)
	if err != nil || len(message) > recentSize {
		r.forget(id)
		return
	}
	v.message = message
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.versions[id]; !known {
		if len(r.order) < recentKept {
			r.order = append(r.order, id)
		} else {
			delete(r.versions, r.order[r.next])
			r.order[r.next] = id
			r.next = (r.next + 1) % recentKept
		}
	}
	r.versions[id] = v
}

func (r *recent) forget(id uuid.UUID) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.versions, id)
}
