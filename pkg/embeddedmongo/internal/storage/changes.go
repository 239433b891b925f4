package storage

import (
	"bytes"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/index"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// changes are the index changes of one write.
type changes struct {
	c        *Collection
	id       []byte
	old, new value.Doc
	per      []indexChange
	unique   []uint64     // Hashes of the keys that are added to unique indexes: their locks.
	key      []byte       // Buffer for entry keys.
	fields   [][]byte     // Buffer for the names of the fields that differ.
	keys     index.Memory // Of the keys in per.
}

// changesPool reuses the slices of finished changes.
var changesPool = sync.Pool{New: func() any { return &changes{} }}

func newChanges(c *Collection, id []byte, old, fresh value.Doc) *changes {
	ch := changesPool.Get().(*changes)
	ch.c, ch.id, ch.old, ch.new = c, id, old, fresh
	return ch
}

// release returns the changes to their pool. The caller must not use them afterwards.
func (ch *changes) release() {
	ch.reset()
	changesPool.Put(ch)
}

func (ch *changes) reset() {
	clear(ch.per)
	ch.keys.Reset()
	clear(ch.fields)
	*ch = changes{per: ch.per[:0], unique: ch.unique[:0], key: ch.key[:0], keys: ch.keys, fields: ch.fields[:0]}
}

type indexChange struct {
	ix             *Index
	header         [IndexHeader]byte
	added, removed [][]byte // Encoded fields.
}

// parseFrom is the number of indexes from which on a change parses its documents for all of them.
const parseFrom = 2

// derive computes the added and removed index entries, and records multikey fields before such entries become visible.
func (ch *changes) derive() error {
	var changed [][]byte
	replaced := ch.old != nil && ch.new != nil
	if replaced {
		ch.fields = appendChangedFields(ch.fields[:0], ch.old, ch.new)
		changed = ch.fields
	}
	derived := 0
	for _, ix := range (*ch.c.maintained.Load())[1:] {
		if replaced && (ix.untouched(changed) || ix.excludes(ch.new, changed)) {
			continue
		}
		if derived++; derived == parseFrom {
			ch.keys.Parse(ch.old, ch.new)
		}
		var before, after index.KeySet
		var err error
		if ch.old != nil {
			if before, err = ix.entriesIn(&ch.keys, ch.old); err != nil {
				return err
			}
		}
		if ch.new != nil {
			if after, err = ix.entriesIn(&ch.keys, ch.new); err != nil {
				return err
			}
		}
		if m := after.Multikey; m&^ix.multikey.Load() != 0 {
			if err := ch.c.setMultikey(ix, m); err != nil {
				return err
			}
		}
		ic := indexChange{ix: ix, added: ch.keys.Minus(after.Keys, before.Keys), removed: ch.keys.Minus(before.Keys, after.Keys)}
		if len(ic.added) == 0 && len(ic.removed) == 0 {
			continue
		}
		ic.header = indexHeader(tagIndex, ch.c.ID, ix.Spec.ID)
		if ix.Spec.Unique {
			for _, k := range ic.added {
				ch.key = append(append(ch.key[:0], ic.header[:]...), k...)
				ch.unique = append(ch.unique, ch.c.e.unique.hash(ch.key))
			}
		}
		ch.per = append(ch.per, ic)
	}
	return nil
}

// checkUnique searches for other documents' entries with the added keys. The caller held the keys' locks before it opened the
// iterator.
func (ch *changes) checkUnique(it *pebble.Iterator) error {
	for _, ic := range ch.per {
		if !ic.ix.Spec.Unique {
			continue
		}
		for _, k := range ic.added {
			taken, err := taken(it, append(bytes.Clone(ic.header[:]), k...), ch.id)
			if err != nil {
				return err
			}
			if taken {
				return duplicateKey(ch.c, ic.ix, ch.new, k)
			}
		}
	}
	return nil
}

func taken(it *pebble.Iterator, prefix, id []byte) (bool, error) {
	it.SetBounds(prefix, Successor(prefix))
	for ok := it.First(); ok; ok = it.Next() {
		if !bytes.Equal(EntryID(it.Key()), id) {
			return true, nil
		}
	}
	return false, storageError(it.Error())
}

// write adds the document and its index entries to the batch, and the change of the number of documents.
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
	for _, ic := range ch.per {
		for _, k := range ic.removed {
			if err := ic.ix.deleteEntry(b, ch.entryKey(&ic, k)); err != nil {
				return err
			}
		}
		for _, k := range ic.added {
			if err := b.Set(ch.entryKey(&ic, k), nil, nil); err != nil {
				return err
			}
		}
	}
	return ch.c.addCount(b, ch.delta())
}

// addCount adds a change of the number of documents to a batch.
func (c *Collection) addCount(b *pebble.Batch, n int64) error {
	if n == 0 {
		return nil
	}
	return addCounter(b, tagged(tagCount, c.ID), n)
}

// deleteEntry removes an entry that exists. Pebble drops a SingleDelete together with its Set as soon as the two meet, in a flush
// already, and a Delete on the lowest level only. With a second Set below, a SingleDelete would bring that one back.
func (ix *Index) deleteEntry(b *pebble.Batch, key []byte) error {
	if ix.Spec.SetOnce {
		return b.SingleDelete(key, nil)
	}
	return b.Delete(key, nil)
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
