package storage

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Action is the decision of a Modify function.
type Action int

// Keep leaves the document, Replace stores the new version, Delete removes it.
const (
	Keep Action = iota
	Replace
	Delete
)

// Modify runs f on the current version of a document under its lock and executes the action that f returns. It does nothing when
// the document no longer exists. The version is valid until f returns. Modify does not retain the new one.
func (c *Collection) Modify(w *Commit, id []byte, f func(old value.Doc) (value.Doc, Action, error)) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.dropped {
		return ErrDropped
	}
	docKey := append(c.DocPrefix(), id...)
	defer c.e.docs.lock(docKey).Unlock()
	v, closer, err := c.e.db.Get(docKey)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err != nil {
		return storageError(err)
	}
	defer closer.Close()
	old := value.Doc(v)
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
		// Deletes need space too, but they free more.
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
	if err := ch.write(b, docKey); err != nil {
		b.Close()
		return err
	}
	if err := w.apply(b); err != nil {
		return err
	}
	if c.count.Add(ch.delta()); d == nil {
		c.e.deleted.total.Add(1)
	}
	return nil
}

// probing runs f with an iterator that sees everything written so far.
func (c *Collection) probing(f func(*pebble.Iterator) error) error {
	// Most probed keys do not exist, so the bloom filters of the lowest level pay off, which Pebble skips by default.
	it, err := c.e.db.NewIter(&pebble.IterOptions{UseL6Filters: true})
	if err != nil {
		return storageError(err)
	}
	return errors.Join(f(it), storageError(it.Close()))
}
