package storage

import (
	"bytes"
	"errors"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// highest is an upper bound of the _ids of a collection. Most ids are ordered by time, so most inserts are above the bound and
// need no lookup, which would probe a bloom filter on every level.
//
// Deletes and failed writes leave the bound unchanged. A writer calls below and raise under the document's lock, and raise before
// the write becomes visible. So of two inserts of the same _id, the second finds the bound raised.
type highest struct {
	mu    sync.Mutex
	known bool   // Else nothing was inserted since the collection was opened.
	id    []byte // Encoded; nil when there was no document.
}

// below reports whether every _id is below id, which is encoded.
func (h *highest) below(c *Collection, id []byte) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.load(c); err != nil {
		return false, err
	}
	return bytes.Compare(h.id, id) < 0, nil
}

// raise extends the bound to the _id of a document that is about to be written.
func (h *highest) raise(c *Collection, id []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.load(c); err != nil {
		return err
	}
	if bytes.Compare(h.id, id) < 0 {
		h.id = append(h.id[:0], id...)
	}
	return nil
}

// load reads the last _id, once. It precedes every insert, because each insert calls below first.
func (h *highest) load(c *Collection) error {
	if h.known {
		return nil
	}
	prefix := c.DocPrefix()
	it, err := c.e.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: Successor(prefix)})
	if err != nil {
		return storageError(err)
	}
	if it.Last() {
		h.id = bytes.Clone(it.Key()[len(prefix):])
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return storageError(err)
	}
	h.known = true
	return nil
}
