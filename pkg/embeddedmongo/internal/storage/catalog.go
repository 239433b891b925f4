package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
)

// record is a collection in the catalog.
type record struct {
	ID      uint32      `bson:"id"`
	NextIx  uint16      `bson:"nextIndex"`
	Indexes []IndexSpec `bson:"indexes"`
}

func namespace(db, coll string) string { return db + "." + coll }

func (e *Engine) loadCatalog() error {
	it, err := e.db.NewIter(&pebble.IterOptions{LowerBound: []byte{tagCatalog}, UpperBound: []byte{tagCatalog + 1}})
	if err != nil {
		return fmt.Errorf("read catalog: %w", err)
	}
	defer it.Close()
	var retired []retiredIndex
	for ok := it.First(); ok; ok = it.Next() {
		db, name, found := strings.Cut(string(it.Key()[1:]), "\x00")
		var r record
		if err := bson.Unmarshal(it.Value(), &r); err != nil || !found {
			return fmt.Errorf("read catalog record %q: %w", it.Key()[1:], err)
		}
		c := newCollection(e, db, name, r)
		for _, s := range r.Indexes {
			if isRetired(s) {
				retired = append(retired, retiredIndex{c, s.ID})
				continue
			}
			ix, err := OpenIndex(s)
			if err != nil {
				return fmt.Errorf("open index %s of %s.%s: %w", s.Name, db, name, err)
			}
			c.setIndexes(append(slices.Clone(c.Indexes()), ix))
		}
		n, err := e.counter(tagged(tagCount, c.ID))
		if err != nil && !(e.opts.ReadOnly && pebble.IsCorruptionError(err)) { // Its check tells.
			return fmt.Errorf("read document count of %s.%s: %w", db, name, err)
		}
		c.count.Store(n)
		e.colls[namespace(db, name)] = c
	}
	if err := it.Error(); err != nil || e.opts.ReadOnly {
		return err
	}
	return e.dropRetired(retired)
}

// Lookup finds a collection; nil when it does not exist.
func (e *Engine) Lookup(db, name string) *Collection {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.colls[namespace(db, name)]
}

// Collection finds or creates a collection.
func (e *Engine) Collection(db, name string) (*Collection, error) {
	if c := e.Lookup(db, name); c != nil {
		return c, nil
	}
	if err := checkNames(db, name); err != nil {
		return nil, err
	}
	if err := e.space.check(0); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if c := e.colls[namespace(db, name)]; c != nil {
		return c, nil
	}
	id, err := e.nextID()
	if err != nil {
		return nil, err
	}
	c := newCollection(e, db, name, record{ID: id, NextIx: 1})
	b := e.db.NewBatch()
	defer b.Close()
	if err := b.Set([]byte{tagSequence}, binary.BigEndian.AppendUint32(nil, id+1), nil); err != nil {
		return nil, err
	}
	if err := c.putRecord(b, 1, nil); err != nil {
		return nil, err
	}
	// No sync: later writes to the collection follow this record in the log.
	if err := e.db.Apply(b, pebble.NoSync); err != nil {
		return nil, err
	}
	e.dirty.Add(1)
	e.colls[namespace(db, name)] = c
	return c, nil
}

func (e *Engine) nextID() (uint32, error) {
	v, closer, err := e.db.Get([]byte{tagSequence})
	if errors.Is(err, pebble.ErrNotFound) {
		return 1, nil
	}
	if err != nil {
		return 0, err
	}
	defer closer.Close()
	return binary.BigEndian.Uint32(v), nil
}

func checkNames(db, coll string) error {
	switch {
	case db == "" || len(db) > 63 || strings.ContainsAny(db, "/\\. \"$\x00"):
		return mongoerr.New(mongoerr.InvalidNamespace, "database name %q is not allowed", db)
	case coll == "" || len(db)+len(coll) > 255 || strings.ContainsAny(coll, "$\x00") || coll[0] == '.' || coll[len(coll)-1] == '.':
		return mongoerr.New(mongoerr.InvalidNamespace, "collection name %q is not allowed", coll)
	}
	return nil
}

// Collections lists the collections of a database by name; of all databases when db is empty.
func (e *Engine) Collections(db string) []*Collection {
	e.mu.RLock()
	defer e.mu.RUnlock()
	var cs []*Collection
	for _, c := range e.colls {
		if db == "" || c.DB == db {
			cs = append(cs, c)
		}
	}
	slices.SortFunc(cs, func(a, b *Collection) int {
		return strings.Compare(namespace(a.DB, a.Name), namespace(b.DB, b.Name))
	})
	return cs
}

// Drop removes a collection and everything in it, durably.
func (e *Engine) Drop(c *Collection) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dropped {
		return nil
	}
	b := e.db.NewBatch()
	defer b.Close()
	if err := b.Delete(catalogKey(c.DB, c.Name), nil); err != nil {
		return err
	}
	for _, tag := range []byte{tagDoc, tagIndex, tagCount} {
		lo := tagged(tag, c.ID)
		if err := b.DeleteRange(lo, Successor(lo), nil); err != nil {
			return err
		}
	}
	if err := e.applySynced(b); err != nil {
		return err
	}
	c.dropped = true
	delete(e.colls, namespace(c.DB, c.Name))
	return nil
}

// putRecord writes the collection's catalog record with the indexes given.
func (c *Collection) putRecord(b *pebble.Batch, nextIx uint16, list []*Index) error {
	r := record{ID: c.ID, NextIx: nextIx, Indexes: []IndexSpec{}}
	for _, ix := range list {
		if ix.IsID() {
			continue
		}
		r.Indexes = append(r.Indexes, ix.Spec)
	}
	v, err := bson.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode catalog record of %s.%s: %w", c.DB, c.Name, err)
	}
	return b.Set(catalogKey(c.DB, c.Name), v, nil)
}

// DiskUsage estimates the bytes on disk of a database.
func (e *Engine) DiskUsage(db string) (int64, error) {
	var sum int64
	for _, c := range e.Collections(db) {
		for _, tag := range []byte{tagDoc, tagIndex} {
			lo := tagged(tag, c.ID)
			n, err := e.db.EstimateDiskUsage(lo, Successor(lo))
			if err != nil {
				return 0, storageError(err)
			}
			sum += int64(n)
		}
	}
	return sum, nil
}
