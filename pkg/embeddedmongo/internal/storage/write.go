package storage

import (
	"bytes"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/index"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// MaxDocument is the largest document, in bytes.
const MaxDocument = 16 << 20

// Action is what a Modify function decides.
type Action int

// Keep leaves the document, Replace stores the new version, Delete removes it.
const (
	Keep Action = iota
	Replace
	Delete
)

// Insert stores a new document. A document with its _id, or with a key of a unique index, must not exist: DuplicateKey.
func (c *Collection) Insert(w *Commit, d value.Doc) error {
	id, err := EncodeID(d)
	if err != nil {
		return err
	}
	return c.change(w, id, true, func(old value.Doc) (value.Doc, Action, error) {
		if old != nil {
			return nil, Keep, duplicateKey(c, c.Indexes()[0], d)
		}
		return d, Replace, nil
	})
}

// Modify runs f on the current version of a document (nil when it does not exist any more) while no other write can change it,
// and carries out what f decides.
func (c *Collection) Modify(w *Commit, id []byte, f func(old value.Doc) (value.Doc, Action, error)) error {
	return c.change(w, id, false, func(old value.Doc) (value.Doc, Action, error) {
		if old == nil {
			return nil, Keep, nil
		}
		return f(old)
	})
}

// EncodeID encodes a document's _id and checks what an _id may be.
func EncodeID(d value.Doc) ([]byte, error) {
	v := d.Get("_id")
	switch v.T {
	case value.Missing, bson.TypeUndefined:
		return nil, mongoerr.New(mongoerr.InvalidIDField, "the document has no _id")
	case bson.TypeArray, bson.TypeRegex:
		return nil, mongoerr.New(mongoerr.InvalidIDField, "the '_id' value cannot be of type %s", value.TypeName(v.T))
	}
	if len(d) > MaxDocument {
		return nil, mongoerr.New(mongoerr.ObjectTooLarge, "the document has %d bytes, more than %d", len(d), MaxDocument)
	}
	k := value.AppendKey(nil, v, false)
	if len(k) > maxIDKey {
		return nil, mongoerr.New(mongoerr.BadValue, "the _id is too long")
	}
	return k, nil
}

// change is every write of one document. fresh says that the document is most likely not there.
func (c *Collection) change(w *Commit, id []byte, fresh bool, f func(old value.Doc) (value.Doc, Action, error)) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.dropped {
		return ErrDropped
	}
	docKey := append(c.DocPrefix(), id...)
	defer c.e.docs.lock(docKey).Unlock()
	read := c.Get
	if fresh {
		read = c.getUnlikely
	}
	old, err := read(id)
	if err != nil {
		return err
	}
	d, action, err := f(old)
	if err != nil || action == Keep {
		return err
	}
	if action == Delete {
		d = nil
	}
	if len(d) > MaxDocument {
		return mongoerr.New(mongoerr.ObjectTooLarge, "the document would have %d bytes, more than %d", len(d), MaxDocument)
	}
	if d != nil {
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
	defer c.e.unique.lockAll(ch.unique)()
	if err := ch.checkUnique(); err != nil {
		return err
	}
	if old == nil && d != nil {
		if err := c.highest.raise(c, id); err != nil {
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
	ch.count()
	return nil
}

// changes is what one write does to the indexes.
type changes struct {
	c        *Collection
	id       []byte
	old, new value.Doc
	per      []indexChange
	unique   [][]byte // Locks: index header and fields of added keys of unique indexes.
	key      []byte   // Where an entry's key is put together.
}

// spent are changes that are over; their lists serve the next ones.
var spent = sync.Pool{New: func() any { return &changes{} }}

func newChanges(c *Collection, id []byte, old, fresh value.Doc) *changes {
	ch := spent.Get().(*changes)
	ch.c, ch.id, ch.old, ch.new = c, id, old, fresh
	return ch
}

// release gives the changes back. Nothing of them may be used afterwards.
func (ch *changes) release() {
	clear(ch.per)
	clear(ch.unique)
	*ch = changes{per: ch.per[:0], unique: ch.unique[:0], key: ch.key[:0]}
	spent.Put(ch)
}

type indexChange struct {
	ix             *Index
	header         [IndexHeader]byte
	added, removed [][]byte // Encoded fields.
	prefixes       []prefixChange
}

// derive finds the index entries that come and go, and records multikey fields before any such entry can be seen.
func (ch *changes) derive() error {
	var changed [][]byte
	replaced := ch.old != nil && ch.new != nil
	if replaced {
		changed = changedFields(ch.old, ch.new)
	}
	for _, ix := range ch.c.Indexes()[1:] {
		if replaced && ix.untouched(changed) {
			continue
		}
		var before, after index.KeySet
		var err error
		if ch.old != nil {
			if before, err = ix.entries(ch.old); err != nil {
				return err
			}
		}
		if ch.new != nil {
			if after, err = ix.entries(ch.new); err != nil {
				return err
			}
		}
		if m := after.Multikey; m&^ix.multikey.Load() != 0 {
			if err := ch.c.setMultikey(ix, m); err != nil {
				return err
			}
		}
		ic := indexChange{ix: ix, added: minus(after.Keys, before.Keys), removed: minus(before.Keys, after.Keys)}
		if len(ic.added) == 0 && len(ic.removed) == 0 {
			continue
		}
		ic.header = indexHeader(tagIndex, ch.c.ID, ix.Spec.ID)
		if counted := ix.counted.Load(); counted != 0 {
			ic.prefixes = prefixChanges(ix, counted, before.Keys, after.Keys)
		}
		if ix.Spec.Unique {
			for _, k := range ic.added {
				ch.unique = append(ch.unique, append(bytes.Clone(ic.header[:]), k...))
			}
		}
		ch.per = append(ch.per, ic)
	}
	return nil
}

// minus lists what is in a and not in b; both are sorted.
func minus(a, b [][]byte) [][]byte {
	if len(b) == 0 {
		return a
	}
	var out [][]byte
	for _, k := range a {
		for len(b) > 0 && bytes.Compare(b[0], k) < 0 {
			b = b[1:]
		}
		if len(b) == 0 || !bytes.Equal(b[0], k) {
			out = append(out, k)
		}
	}
	return out
}

// checkUnique looks for other documents' entries with the added keys. Their locks are held.
func (ch *changes) checkUnique() error {
	for _, ic := range ch.per {
		if !ic.ix.Spec.Unique {
			continue
		}
		for _, k := range ic.added {
			taken, err := ch.c.taken(append(bytes.Clone(ic.header[:]), k...), ch.id)
			if err != nil {
				return err
			}
			if taken {
				return duplicateKey(ch.c, ic.ix, ch.new)
			}
		}
	}
	return nil
}

func (c *Collection) taken(prefix, id []byte) (bool, error) {
	it, err := c.e.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: Successor(prefix)})
	if err != nil {
		return false, storageError(err)
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		if !bytes.Equal(EntryID(it.Key()), id) {
			return true, nil
		}
	}
	return false, storageError(it.Error())
}

func (ch *changes) write(b *pebble.Batch, docKey []byte) error {
	var err error
	if ch.new != nil {
		err = b.Set(docKey, ch.new, nil)
	} else {
		err = b.Delete(docKey, nil)
	}
	if err != nil {
		return err
	}
	if n := ch.delta(); n != 0 {
		if err := addCounter(b, tagged(tagCount, ch.c.ID), n); err != nil {
			return err
		}
	}
	for _, ic := range ch.per {
		for _, k := range ic.removed {
			if err := b.Delete(ch.entryKey(&ic, k), nil); err != nil {
				return err
			}
		}
		for _, k := range ic.added {
			if err := b.Set(ch.entryKey(&ic, k), nil, nil); err != nil {
				return err
			}
		}
		for _, p := range ic.prefixes {
			if err := addCounter(b, ch.c.prefixKey(ic.ix, p.n, p.prefix), p.delta); err != nil {
				return err
			}
		}
	}
	return nil
}

// entryKey is valid until the next one.
func (ch *changes) entryKey(ic *indexChange, fields []byte) []byte {
	ch.key = appendEntryKey(ch.key[:0], ic.header[:], fields, ch.id)
	return ch.key
}

func (ch *changes) delta() int64 {
	switch {
	case ch.old == nil:
		return 1
	case ch.new == nil:
		return -1
	}
	return 0
}

// count carries the batch's counters over to memory. The collection's mutex is still held shared, so whoever loads a counter
// under the exclusive lock sees both or neither.
func (ch *changes) count() {
	ch.c.count.Add(ch.delta())
	for _, ic := range ch.per {
		if len(ic.prefixes) > 0 {
			ic.ix.addCounts(ch.c, ic.prefixes)
		}
	}
}

// setMultikey records fields as multikey. The record goes into the log before any entry that depends on it.
func (c *Collection) setMultikey(ix *Index, m uint32) error {
	c.meta.Lock()
	defer c.meta.Unlock()
	if m&^ix.Spec.Multikey == 0 {
		return nil
	}
	ix.Spec.Multikey |= m
	b := c.e.db.NewBatch()
	defer b.Close()
	if err := c.putRecord(b, c.nextIx, c.Indexes()); err != nil {
		return err
	}
	c.e.dirty.Add(1)
	if err := c.e.db.Apply(b, pebble.NoSync); err != nil {
		return err
	}
	// Only now may other writers rely on it.
	ix.multikey.Store(ix.Spec.Multikey)
	return nil
}
