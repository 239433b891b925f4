package storage

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Action is what a Modify function decides.
type Action int

// Keep leaves the document, Replace stores the new version, Delete removes it.
const (
	Keep Action = iota
	Replace
	Delete
)

// Modify runs f on the current version of a document while no other write can change it, and carries out what f decides. A
// document that does not exist any more is left alone.
func (c *Collection) Modify(w *Commit, id []byte, f func(old value.Doc) (value.Doc, Action, error)) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.dropped {
		return ErrDropped
	}
	docKey := append(c.DocPrefix(), id...)
	defer c.e.docs.lock(docKey).Unlock()
	old, err := c.Get(id)
	if err != nil || old == nil {
		return err
	}
	d, action, err := f(old)
	if err != nil || action == Keep {
		return err
	}
	if action == Delete {
		d = nil
	}
	if d != nil {
		if err := checkDocument(d, updateTooLarge); err != nil {
			return err
		}
		// Deleting needs space too, but it is what makes room.
		if err := c.e.space.check(len(d)); err != nil {
			return err
		}
	}
	ch := newChanges(c, id, old, d)
	defer ch.release()
	if err := ch.derive(); err != nil {
		return err
	}
	if len(ch.unique) > 0 {
		ch.unique = c.e.unique.lockAll(ch.unique)
		defer c.e.unique.unlockAll(ch.unique)
		if err := c.probing(ch.checkUnique); err != nil {
			return err
		}
	}
	b := c.e.db.NewBatchWithSize(len(d) + 512)
	t := tally{c: c}
	if err := errors.Join(ch.write(b, docKey, &t), t.write(b)); err != nil {
		b.Close()
		return err
	}
	if err := w.apply(b); err != nil {
		return err
	}
	t.publish()
	return nil
}

// probing runs f with an iterator that sees everything written so far.
func (c *Collection) probing(f func(*pebble.Iterator) error) error {
	// Most of what is looked for is not there, so the lowest level's filters are asked too, which Pebble otherwise passes over.
	it, err := c.e.db.NewIter(&pebble.IterOptions{UseL6Filters: true})
	if err != nil {
		return storageError(err)
	}
	return errors.Join(f(it), storageError(it.Close()))
}
