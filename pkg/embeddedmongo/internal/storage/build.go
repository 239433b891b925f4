package storage

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// CreateIndex builds an index over the existing documents and adds it to the collection. Clients read and write meanwhile. One
// build runs in a collection at a time; a second call waits until ctx ends, and reports false when an equal index exists then. The
// build calls turn every few documents, without a lock. It may wait there for its turn; its error ends the build.
//
//	begin     writes maintain the new index from here on; readers do not see it
//	fill      the entries of the existing documents, under the locks of a few at a time
//	complete  the index is in the catalog; readers use it
//
// A build that ends early leaves entries under an unused index number. The next build removes them.
func (c *Collection) CreateIndex(ctx context.Context, spec IndexSpec, turn func() error) (created bool, err error) {
	ix, err := NewIndex(spec)
	if err != nil {
		return false, err
	}
	if len(ix.Fields) == 1 && ix.Fields[0].Path == "_id" {
		if spec.Sparse || len(spec.Partial) > 0 || spec.Expire != nil {
			return false, mongoerr.New(mongoerr.InvalidIndexSpec, "the _id index cannot be sparse, partial or TTL: %s", spec.Name)
		}
		return false, nil
	}
	if err := c.e.space.check(0); err != nil {
		return false, err
	}
	select {
	case c.builds <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() { <-c.builds }()
	if begun, err := c.beginBuild(ix); !begun || err != nil {
		return false, err
	}
	c.e.building.Add(1)
	defer c.e.building.Add(-1)
	defer c.endBuild()
	if err := c.fill(turn, ix); err != nil {
		return false, err
	}
	if ix.Spec.Unique {
		if err := c.checkNoDuplicates(ix, c.IndexPrefix(ix)); err != nil {
			return false, err
		}
	}
	return true, c.completeBuild(ix)
}

// beginBuild makes all later writes maintain the index. It reports false when an equal index exists.
func (c *Collection) beginBuild(ix *Index) (begun bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.meta.Lock()
	defer c.meta.Unlock()
	if c.dropped {
		return false, ErrDropped
	}
	for _, old := range c.Indexes() {
		if same, err := compareSpecs(old, ix.Spec); same || err != nil {
			return false, err
		}
	}
	if len(c.Indexes()) == maxIndexes {
		return false, mongoerr.New(mongoerr.CannotCreateIndex, "add index %s to %s.%s: a collection has at most %d indexes", ix.Spec.Name, c.DB, c.Name, maxIndexes)
	}
	ix.Spec.ID, ix.Spec.Multikey, ix.Spec.SetOnce = c.nextIx, 0, false
	header := c.IndexPrefix(ix)
	if err := c.e.db.DeleteRange(header, Successor(header), pebble.NoSync); err != nil {
		return false, err
	}
	c.maintain(ix)
	return true, nil
}

// endBuild makes writes maintain only the indexes that readers use.
func (c *Collection) endBuild() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.maintain(nil)
}

// completeBuild adds the index to the catalog. All entries precede the record in the log.
func (c *Collection) completeBuild(ix *Index) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.meta.Lock()
	defer c.meta.Unlock()
	if c.dropped {
		return ErrDropped
	}
	list := append(slices.Clone(c.Indexes()), ix)
	b := c.e.db.NewBatch()
	defer b.Close()
	// Until here writes deleted entries that did not exist yet. A failed build leaves the mark on an index that nobody uses.
	ix.Spec.SetOnce = true
	if err := c.putRecord(b, c.nextIx+1, list); err != nil {
		return err
	}
	if err := c.e.applySynced(b); err != nil {
		return err
	}
	c.nextIx++
	c.building = nil
	c.setIndexes(list)
	return nil
}

// compareSpecs reports whether an index equals the specification; a partial match is a conflict.
func compareSpecs(old *Index, spec IndexSpec) (same bool, err error) {
	o := old.Spec
	sameKey := bytes.Equal(normalKey(value.Doc(o.Key)), normalKey(value.Doc(spec.Key)))
	sameOptions := o.Unique == spec.Unique && o.Sparse == spec.Sparse && bytes.Equal(o.Partial, spec.Partial) &&
		(o.Expire == nil) == (spec.Expire == nil) && (o.Expire == nil || *o.Expire == *spec.Expire)
	switch {
	case o.Name == spec.Name && sameKey && sameOptions:
		return true, nil
	case o.Name == spec.Name:
		return false, mongoerr.New(mongoerr.IndexKeySpecsConflict, "an existing index has the same name as the requested index but another specification: %s", o.Name)
	case sameKey && bytes.Equal(o.Partial, spec.Partial):
		return false, mongoerr.New(mongoerr.IndexOptionsConflict, "an index with the same key exists with another name or other options: %s", o.Name)
	}
	return false, nil
}

func normalKey(d value.Doc) []byte {
	var b []byte
	for it := d.Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			return b
		}
		b = append(append(b, k...), 0)
		if v.Float() < 0 {
			b = append(b, '-')
		}
	}
}

// fill adds the entries of all documents. A document that is written meanwhile gets its entries from that write.
func (c *Collection) fill(turn func() error, ix *Index) (err error) {
	for next := c.DocPrefix(); next != nil; {
		if err := turn(); err != nil {
			return err
		}
		if next, err = c.fillSome(ix, next); err != nil {
			return err
		}
	}
	return nil
}

// fillSome adds the entries of some documents, from a document key on. It returns the key from which the next call goes on; nil
// after the last document.
func (c *Collection) fillSome(ix *Index, from []byte) (next []byte, err error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.dropped {
		return nil, ErrDropped
	}
	keys, err := c.documentKeys(from, MaxInserted)
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	locks := make([]uint64, len(keys))
	for i, k := range keys {
		locks[i] = c.e.docs.hash(k)
	}
	locks = c.e.docs.lockAll(locks)
	defer c.e.docs.unlockAll(locks)
	b := c.e.db.NewBatch()
	defer b.Close()
	if err := c.addEntries(b, ix, keys); err != nil {
		return nil, err
	}
	if err := c.e.space.check(b.Len()); err != nil {
		return nil, err
	}
	if err := c.e.db.Apply(b, pebble.NoSync); err != nil {
		return nil, err
	}
	c.e.indexed.Add(int64(len(keys)))
	return append(keys[len(keys)-1], 0), nil
}

// documentKeys returns the next keys of documents, from a key on.
func (c *Collection) documentKeys(from []byte, limit int) (keys [][]byte, err error) {
	it, err := c.e.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: Successor(c.DocPrefix())})
	if err != nil {
		return nil, storageError(err)
	}
	for ok := it.First(); ok && len(keys) < limit; ok = it.Next() {
		keys = append(keys, bytes.Clone(it.Key()))
	}
	return keys, storageError(errors.Join(it.Error(), it.Close()))
}

// addEntries adds the entries of the current versions of documents, which the caller has locked, to a batch.
func (c *Collection) addEntries(b *pebble.Batch, ix *Index, keys [][]byte) error {
	r, err := c.Reader() // The documents may have changed before they were locked.
	if err != nil {
		return err
	}
	defer r.Close()
	v := r.View()
	defer v.Close()
	header := c.IndexPrefix(ix)
	for _, key := range keys {
		id := key[DocHeader:]
		d, err := v.Doc(id)
		if err != nil {
			return err
		}
		if d == nil {
			continue
		}
		ks, err := ix.entries(d)
		if err != nil {
			return err
		}
		if ks.Multikey&^ix.multikey.Load() != 0 {
			if err := c.setMultikey(ix, ks.Multikey); err != nil {
				return err
			}
		}
		for _, k := range ks.Keys {
			// A write since the begin of the build may have set the entry. The deletion keeps the promise of SetOnce.
			key := entryKey(header, k, id)
			if err := errors.Join(b.Delete(key, nil), b.Set(key, nil, nil)); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkNoDuplicates compares adjacent entries: equal fields of different documents are duplicates. Once all entries are there,
// writes refuse further duplicates, so the result holds afterwards.
func (c *Collection) checkNoDuplicates(ix *Index, header []byte) error {
	it, err := c.e.db.NewIter(&pebble.IterOptions{LowerBound: header, UpperBound: Successor(header)})
	if err != nil {
		return storageError(err)
	}
	defer it.Close()
	var last []byte
	for ok := it.First(); ok; ok = it.Next() {
		f := EntryFields(it.Key())
		if last != nil && bytes.Equal(last, f) {
			d, err := c.Get(bytes.Clone(EntryID(it.Key())))
			if err != nil {
				return err
			}
			return duplicateKey(c, ix, d, f)
		}
		last = append(last[:0], f...)
	}
	return storageError(it.Error())
}

// DropIndexes removes the indexes for which choose returns true. It never calls choose with the _id index.
func (c *Collection) DropIndexes(choose func(*Index) bool) (dropped int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.meta.Lock()
	defer c.meta.Unlock()
	b := c.e.db.NewBatch()
	defer b.Close()
	var keep []*Index
	for _, ix := range c.Indexes() {
		if ix.IsID() || !choose(ix) {
			keep = append(keep, ix)
			continue
		}
		dropped++
		lo := c.IndexPrefix(ix)
		if err := b.DeleteRange(lo, Successor(lo), nil); err != nil {
			return 0, err
		}
	}
	if dropped == 0 || c.dropped {
		return 0, nil
	}
	if err := c.putRecord(b, c.nextIx, keep); err != nil {
		return 0, err
	}
	// Readers find the list without the indexes, or the state with their entries.
	all := c.Indexes()
	c.setIndexes(keep)
	c.drops.Add(1)
	if err := c.e.applySynced(b); err != nil {
		c.setIndexes(all)
		return 0, err
	}
	return dropped, nil
}

// HasKeys reports whether a key pattern has the fields and directions of the index.
func (ix *Index) HasKeys(pattern value.Doc) bool {
	n := 0
	for it := pattern.Iter(); ; n++ {
		k, v, ok := it.Next()
		if !ok {
			return n == len(ix.Fields)
		}
		direction, _ := v.Int()
		if n == len(ix.Fields) || string(k) != ix.Fields[n].Path || direction < 0 != ix.Fields[n].Desc {
			return false
		}
	}
}

// DefaultIndexName is the name that an index gets from its keys.
func DefaultIndexName(key value.Doc) string {
	var parts []string
	for it := key.Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			return strings.Join(parts, "_")
		}
		n, _ := v.Int()
		dir := "1"
		if n < 0 {
			dir = "-1"
		}
		parts = append(parts, string(k), dir)
	}
}
