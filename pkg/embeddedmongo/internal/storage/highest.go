package storage

import (
	"bytes"
	"errors"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// highest knows an _id that none of a collection's documents lies above. Most ids are made by time, so most documents that
// are inserted do, and need not be looked for: a look asks a filter of every level.
//
// It is a bound, not the last document: what is deleted, or could not be written in the end, leaves it where it is. Whoever
// writes a new document calls raise before the write can be seen, and both below and raise under the document's lock: of two
// who insert the same _id the second then finds it not to lie above.
type highest struct {
	mu    sync.Mutex
	known bool   // Else nothing was inserted since the collection was opened.
	id    []byte // Encoded; nil when there was no document.
}

// below tells whether every document's _id is below id, which is encoded.
func (h *highest) below(c *Collection, id []byte) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.load(c); err != nil {
		return false, err
	}
	return bytes.Compare(h.id, id) < 0, nil
}

// raise says that a document with that _id is about to be.
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

// load reads the last document's _id, once. No insert comes before it, as each asks first.
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
