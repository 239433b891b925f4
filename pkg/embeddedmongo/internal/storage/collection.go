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

	e        *Engine
	complete atomic.Pointer[[]*Index]
	// maintained are the indexes that writes maintain: the complete ones, then the one that is being built.
	maintained atomic.Pointer[[]*Index]
	count      atomic.Int64
	highest    highest
	builds     chan struct{} // Holds an element during an index build.
	drops      atomic.Int64  // Drops of indexes that began.

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

// Indexes lists the complete indexes, the _id index first. The caller must not modify the list.
func (c *Collection) Indexes() []*Index { return *c.complete.Load() }

// setIndexes replaces the complete indexes. The caller holds mu.
func (c *Collection) setIndexes(list []*Index) {
	c.complete.Store(&list)
	c.maintain(c.building)
}

// maintain makes writes maintain the complete indexes and the one that is being built, which may be nil. The caller holds mu.
func (c *Collection) maintain(building *Index) {
	c.building = building
	list := c.Indexes()
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
