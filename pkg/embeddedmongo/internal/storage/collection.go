package storage

import (
	"bytes"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// ErrDropped reports that the collection was dropped after it was looked up; the caller looks it up again.
var ErrDropped = errors.New("collection dropped")

// Collection is an open collection.
type Collection struct {
	DB, Name string
	ID       uint32

	e *Engine
	// The complete indexes, the _id index first, and by kind: those with an entry for each document, and those of trigrams.
	all, indexes, grams atomic.Pointer[[]*Index]
	// maintained are the indexes that writes maintain: the complete ones, then the one that is being built.
	maintained atomic.Pointer[[]*Index]
	count      atomic.Int64
	gone       atomic.Int64 // Documents that were deleted, or left a bucket, since stale postings were removed.
	highest    highest
	builds     chan struct{} // Holds an element during an index build.

	// mu is held shared while a write is applied, exclusively while the indexes change and the collection is dropped.
	mu       sync.RWMutex
	dropped  bool
	building *Index // The index that is being built, or nil.

	meta   sync.Mutex // Guards the catalog record.
	nextIx uint16
}

func newCollection(e *Engine, db, name string, r record) *Collection {
	c := &Collection{DB: db, Name: name, ID: r.ID, e: e, nextIx: r.NextIx, builds: make(chan struct{}, 1)}
	c.setIndexes([]*Index{newIDIndex()})
	return c
}

// Indexes lists the complete indexes with entries for documents, the _id index first. The caller must not modify the list. A reader calls
// it before View: an index may be completed between the two.
func (c *Collection) Indexes() []*Index { return *c.indexes.Load() }

// GramIndexes lists the complete indexes of trigrams. As for Indexes, a reader calls it before View.
func (c *Collection) GramIndexes() []*Index { return *c.grams.Load() }

// AllIndexes lists the complete indexes of all kinds, the _id index first. The caller must not modify the list.
func (c *Collection) AllIndexes() []*Index { return *c.all.Load() }

// setIndexes replaces the complete indexes. The caller holds mu.
func (c *Collection) setIndexes(list []*Index) {
	var indexes, grams []*Index
	for _, ix := range list {
		if ix.Grams != nil {
			grams = append(grams, ix)
		} else {
			indexes = append(indexes, ix)
		}
	}
	c.all.Store(&list)
	c.indexes.Store(&indexes)
	c.grams.Store(&grams)
	c.maintain(c.building)
}

// maintain makes writes maintain the complete indexes and the one that is being built, which may be nil. The caller holds mu.
func (c *Collection) maintain(building *Index) {
	c.building = building
	list := c.AllIndexes()
	if building != nil {
		list = append(slices.Clone(list), building)
	}
	c.maintained.Store(&list)
}

// Count is the number of documents.
func (c *Collection) Count() int64 { return c.count.Load() }

// Engine is the engine that the collection lives in.
func (c *Collection) Engine() *Engine { return c.e }

// DocPrefix is the prefix of all document keys of the collection.
func (c *Collection) DocPrefix() []byte { return tagged(tagDoc, c.ID) }

// IndexPrefix is the prefix of all entries of an index; for the _id index that of the document keys.
func (c *Collection) IndexPrefix(ix *Index) []byte {
	if ix.IsID() {
		return c.DocPrefix()
	}
	return taggedIndex(tagIndex, c.ID, ix.Spec.ID)
}

// Get reads the current version of a document by its encoded _id; nil when there is none. The caller owns the bytes.
func (c *Collection) Get(id []byte) (d value.Doc, err error) {
	err = c.Read(id, func(v value.Doc) error {
		d = bytes.Clone(v)
		return nil
	})
	return d, err
}

// Read calls f with the current version of a document by its encoded _id; not at all when there is none. The version is valid until
// f returns.
func (c *Collection) Read(id []byte, f func(value.Doc) error) error {
	v, closer, err := c.e.db.Get(append(c.DocPrefix(), id...))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err != nil {
		return storageError(err)
	}
	return errors.Join(f(v), storageError(closer.Close()))
}

// View is a consistent state of a collection. It must be closed, and belongs to one goroutine at a time.
type View struct {
	c       *Collection
	indexes []*Index
	first   *pebble.Iterator
	docs    *pebble.Iterator
	rest    []*pebble.Iterator
	key     []byte
}

// View starts a consistent read.
func (c *Collection) View() (*View, error) {
	indexes := c.AllIndexes() // The state that follows has all of their keys.
	it, err := c.e.db.NewIter(&pebble.IterOptions{LowerBound: c.DocPrefix(), UpperBound: Successor(c.DocPrefix())})
	if err != nil {
		return nil, storageError(err)
	}
	return &View{c: c, indexes: indexes, first: it}, nil
}

// Has reports whether the state has all keys of an index. It lacks some of an index that was completed later.
func (v *View) Has(ix *Index) bool { return slices.Contains(v.indexes, ix) }

// Iter opens an iterator of the same state. The view closes it.
func (v *View) Iter(lower, upper []byte) (*pebble.Iterator, error) {
	it, err := v.first.Clone(pebble.CloneOptions{IterOptions: &pebble.IterOptions{LowerBound: lower, UpperBound: upper}})
	if err != nil {
		return nil, storageError(err)
	}
	v.rest = append(v.rest, it)
	return it, nil
}

// Docs is the iterator over the documents themselves.
func (v *View) Docs() *pebble.Iterator { return v.first }

// Doc reads a document by its encoded _id; nil when there is none. The bytes are valid until the next call.
func (v *View) Doc(id []byte) (value.Doc, error) {
	if v.docs == nil {
		it, err := v.Iter(v.c.DocPrefix(), Successor(v.c.DocPrefix()))
		if err != nil {
			return nil, err
		}
		v.docs = it
	}
	v.key = append(append(v.key[:0], v.c.DocPrefix()...), id...)
	// The prefix is the whole key, so bloom filters skip most levels.
	if !v.docs.SeekPrefixGE(v.key) {
		return nil, storageError(v.docs.Error())
	}
	d, err := v.docs.ValueAndErr()
	return d, storageError(err)
}

// Close releases the state.
func (v *View) Close() error {
	var err error
	for _, it := range v.rest {
		err = errors.Join(err, it.Close())
	}
	v.rest = nil
	if v.first != nil {
		err = errors.Join(err, v.first.Close())
		v.first = nil
	}
	return storageError(err)
}
