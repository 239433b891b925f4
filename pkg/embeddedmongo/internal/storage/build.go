package storage

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// CreateIndex builds an index over the existing documents and adds it to the collection. It blocks writes meanwhile. It reports
// false when an equal index exists already.
func (c *Collection) CreateIndex(spec IndexSpec) (created bool, err error) {
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
	c.mu.Lock()
	defer c.mu.Unlock()
	c.meta.Lock()
	defer c.meta.Unlock()
	if c.dropped {
		return false, ErrDropped
	}
	for _, old := range c.Indexes() {
		if same, err := compareSpecs(old, spec); same || err != nil {
			return false, err
		}
	}
	if len(c.Indexes()) == maxIndexes {
		return false, mongoerr.New(mongoerr.CannotCreateIndex, "add index %s to %s.%s: a collection has at most %d indexes", spec.Name, c.DB, c.Name, maxIndexes)
	}
	ix.Spec.ID, ix.Spec.Multikey, ix.Spec.Counted = c.nextIx, 0, 0
	if err := c.fill(ix); err != nil {
		lo := c.IndexPrefix(ix)
		return false, errors.Join(err, c.e.db.DeleteRange(lo, Successor(lo), pebble.NoSync))
	}
	list := append(slices.Clone(c.Indexes()), ix)
	b := c.e.db.NewBatch()
	defer b.Close()
	if err := c.putRecord(b, c.nextIx+1, list); err != nil {
		return false, err
	}
	if err := c.e.db.Apply(b, pebble.Sync); err != nil {
		return false, err
	}
	ix.multikey.Store(ix.Spec.Multikey)
	c.nextIx++
	c.setIndexes(list)
	return true, nil
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

// fill writes the entries of all documents. A crash leaves entries under an unused index number, which the next build removes.
func (c *Collection) fill(ix *Index) error {
	header := c.IndexPrefix(ix)
	if err := c.e.db.DeleteRange(header, Successor(header), pebble.NoSync); err != nil {
		return err
	}
	v, err := c.View()
	if err != nil {
		return err
	}
	defer v.Close()
	b := c.e.db.NewBatch()
	defer func() { b.Close() }()
	it := v.Docs()
	prefix := len(c.DocPrefix())
	for ok := it.First(); ok; ok = it.Next() {
		d, err := it.ValueAndErr()
		if err != nil {
			return storageError(err)
		}
		ks, err := ix.entries(value.Doc(d))
		if err != nil {
			return err
		}
		ix.Spec.Multikey |= ks.Multikey
		for _, k := range ks.Keys {
			if err := b.Set(entryKey(header, k, it.Key()[prefix:]), nil, nil); err != nil {
				return err
			}
		}
		if b.Len() > 1<<20 {
			if err := c.e.space.check(b.Len()); err != nil {
				return err
			}
			if err := c.e.db.Apply(b, pebble.NoSync); err != nil {
				return err
			}
			b.Reset()
		}
	}
	if err := it.Error(); err != nil {
		return storageError(err)
	}
	if err := c.e.db.Apply(b, pebble.NoSync); err != nil {
		return err
	}
	if ix.Spec.Unique {
		return c.checkNoDuplicates(ix, header)
	}
	return nil
}

// checkNoDuplicates compares adjacent entries: equal fields of different documents are duplicates.
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
		for _, tag := range []byte{tagIndex, tagPrefix} {
			lo := taggedIndex(tag, c.ID, ix.Spec.ID)
			if err := b.DeleteRange(lo, Successor(lo), nil); err != nil {
				return 0, err
			}
		}
	}
	if dropped == 0 || c.dropped {
		return 0, nil
	}
	if err := c.putRecord(b, c.nextIx, keep); err != nil {
		return 0, err
	}
	if err := c.e.db.Apply(b, pebble.Sync); err != nil {
		return 0, err
	}
	c.setIndexes(keep)
	return dropped, nil
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
		if !v.IsNumber() {
			dir = v.Str()
		}
		parts = append(parts, string(k), dir)
	}
}
