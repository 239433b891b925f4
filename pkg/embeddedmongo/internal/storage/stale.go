package storage

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

const (
	// staleAfter is the number of deleted documents of a collection below which its postings are not considered.
	staleAfter = 1000
	// staleShare is the part of a collection that must have gone: a pass reads all postings.
	staleShare = 4
	// staleAtOnce bounds the postings that are removed while writes wait: about a millisecond.
	staleAtOnce = 256
	// readAtOnce bounds the postings that are read with one iterator.
	readAtOnce = 1 << 15
	// maxAlive bounds the buckets that a pass remembers.
	maxAlive = 1 << 16
)

// RemoveStale removes the postings of buckets without documents, from collections of which much was deleted. It returns their number.
// One goroutine may call it, now and then.
func (e *Engine) RemoveStale(ctx context.Context) (removed int, err error) {
	for _, c := range e.Collections("") {
		gone := c.gone.Load()
		if e.Failure() != nil || gone < staleAfter || gone < c.Count()/staleShare || len(c.GramIndexes()) == 0 {
			continue
		}
		n, err := c.removeStale(ctx)
		removed += n
		if err != nil {
			return removed, err
		}
		c.gone.Add(-gone)
	}
	return removed, nil
}

// removeStale removes the stale postings of all indexes of trigrams.
func (c *Collection) removeStale(ctx context.Context) (removed int, err error) {
	for _, ix := range c.GramIndexes() {
		alive := map[string]bool{} // By fields and bucket.
		for next := c.IndexPrefix(ix); next != nil; runtime.Gosched() {
			if err := ctx.Err(); err != nil {
				return removed, err
			}
			var stale [][]byte
			if stale, next, err = c.stalePostings(ix, next, alive); err != nil {
				return removed, err
			}
			n, err := c.removePostings(ix, stale)
			removed += n
			if err != nil {
				return removed, err
			}
		}
	}
	return removed, nil
}

// lister is the index that has the documents of each bucket in one range; nil when there is none.
func (c *Collection) lister(text *Index) *Index {
	for _, ix := range c.Indexes() {
		if ix.Lists(text) {
			return ix
		}
	}
	return nil
}

// stalePostings lists the next postings of buckets without documents, from a key on. next is nil after the last posting.
func (c *Collection) stalePostings(ix *Index, from []byte, alive map[string]bool) (stale [][]byte, next []byte, err error) {
	list := c.lister(ix)
	if list == nil {
		return nil, nil, nil
	}
	it, err := c.e.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: Successor(c.IndexPrefix(ix))})
	if err != nil {
		return nil, nil, storageError(err)
	}
	documents, err := it.Clone(pebble.CloneOptions{IterOptions: &pebble.IterOptions{}})
	if err != nil {
		return nil, nil, storageError(errors.Join(err, it.Close()))
	}
	var key []byte
	for n, ok := 0, it.First(); ok; n, ok = n+1, it.Next() {
		if len(stale) == staleAtOnce || n == readAtOnce {
			next = bytes.Clone(it.Key())
			break
		}
		if len(alive) == maxAlive {
			clear(alive)
		}
		fields, bucket := ix.splitPosting(it.Key())
		key = append(append(key[:0], fields...), bucket...)
		has, known := alive[string(key)]
		if !known {
			has = c.hasDocuments(documents, list, ix, fields, bucket)
			alive[string(key)] = has
		}
		if !has {
			stale = append(stale, bytes.Clone(it.Key()))
		}
	}
	return stale, next, storageError(errors.Join(it.Error(), documents.Error(), documents.Close(), it.Close()))
}

// hasDocuments reports whether a bucket has documents.
func (c *Collection) hasDocuments(it *pebble.Iterator, list, text *Index, fields, bucket []byte) bool {
	r := c.BucketRange(list, text, fields, bucket)
	return it.SeekGE(r.Lo) && (r.Hi == nil || bytes.Compare(it.Key(), r.Hi) < 0)
}

// removePostings removes postings whose buckets still have no documents. No writer is between its question for a posting and its write
// meanwhile, so each write of a document either keeps the bucket or adds the postings anew.
func (c *Collection) removePostings(ix *Index, stale [][]byte) (removed int, err error) {
	if len(stale) == 0 {
		return 0, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.lister(ix)
	if c.dropped || list == nil || !slices.Contains(c.AllIndexes(), ix) {
		return 0, nil
	}
	it, err := c.e.db.NewIter(nil)
	if err != nil {
		return 0, storageError(err)
	}
	b := c.e.db.NewBatch()
	defer b.Close()
	alive := map[string]bool{}
	for _, key := range stale {
		fields, bucket := ix.splitPosting(key)
		name := string(slices.Concat(fields, bucket))
		has, known := alive[name]
		if !known {
			has = c.hasDocuments(it, list, ix, fields, bucket)
			alive[name] = has
		}
		if has {
			continue
		}
		ix.recent.forget([]byte(name))
		removed++
		if err := b.Delete(key, nil); err != nil {
			return 0, errors.Join(err, it.Close())
		}
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return 0, storageError(err)
	}
	c.e.dirty.Add(1)
	return removed, c.e.db.Apply(b, pebble.NoSync)
}
