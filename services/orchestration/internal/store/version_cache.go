package store

import (
	"sync"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
)

const (
	// recentCount bounds the cached documents of a collection, recentSize the size of one of them, in bytes.
	recentCount = 512
	recentSize  = 4 << 10
)

// versionCache is the version cache: the versions that this process wrote last, so the next change of a document needs no
// read.
//
// A cached version may be outdated: another process may have written since. It serves only as the base of a
// compare-and-set, which succeeds only if the version is still the stored one. On any other outcome (no write, or an
// error) the version is dropped, and the document is read.
type versionCache struct {
	mu       sync.Mutex
	versions map[uuid.UUID]version
	order    []uuid.UUID // A ring: the oldest is at next once it is full.
	next     int
}

// version is a document as it was written. Messages are encoded: later changes of a caller's message do not reach them,
// and the garbage collector has no pointers to follow.
type version struct {
	ws       uuid.UUID
	revision Revision
	message  []byte
}

func (r *versionCache) get(ws, id uuid.UUID) (version, bool) {
	if r == nil {
		return version{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.versions[id]
	return v, ok && v.ws == ws
}

// put caches a message unless it is large, and evicts the oldest one.
func (r *versionCache) put(id uuid.UUID, v version, m proto.Message) {
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
	if _, cached := r.versions[id]; !cached {
		if len(r.order) < recentCount {
			r.order = append(r.order, id)
		} else {
			delete(r.versions, r.order[r.next])
			r.order[r.next] = id
			r.next = (r.next + 1) % recentCount
		}
	}
	r.versions[id] = v
}

func (r *versionCache) forget(id uuid.UUID) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.versions, id)
}
