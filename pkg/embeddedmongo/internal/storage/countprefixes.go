package storage

import (
	"bytes"
	"errors"
	"runtime"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

const (
	// countedAtOnce is the number of keys between two turns: about half a millisecond.
	countedAtOnce = 2048
	// countersBatch is the size, in bytes, of a batch of counters. Writes do not wait for it.
	countersBatch = 256 << 10
)

// errClosing ends background work at Close.
var errClosing = errors.New("the store closes")

// prefixBit marks prefixes of n fields in the bit masks of an index.
func prefixBit(n int) uint32 { return 1 << n }

// KeepPrefixCounts makes the index keep counters of the documents below prefixes of n fields. The planner calls it after a count
// that walked many keys. The documents are counted in the background, for one index at a time: a reader never waits for writers.
func (c *Collection) KeepPrefixCounts(ix *Index, n int) {
	// A document has one key below a prefix that ends behind all fields with several keys.
	if ix.IsID() || ix.Multikey()>>n != 0 || (ix.counted.Load()|ix.counting.Load())&prefixBit(n) != 0 {
		return
	}
	if ix.queued.Or(prefixBit(n))&prefixBit(n) != 0 {
		return
	}
	c.e.tasks.Go(func() {
		c.e.counting.Lock()
		defer c.e.counting.Unlock()
		defer ix.queued.And(^prefixBit(n))
		err := c.countPrefixes(ix, n, func() error {
			if c.e.closing.Load() {
				return errClosing
			}
			runtime.Gosched()
			return nil
		})
		if err != nil && !errors.Is(err, errClosing) {
			c.e.opts.Logger.Warn("failed to count documents below prefixes", "collection", c.Name, "index", ix.Spec.Name, "fields", n, "error", err)
		}
	})
}

// countPrefixes counts the documents below prefixes of n fields. Clients read and write meanwhile. It calls turn every few keys,
// without a lock; the error of turn ends it.
//
//	begin     writes move the counters from here on; readers do not see them
//	count     adds the numbers of a view of the index, as merge records: they add up with those of the writes
//	complete  the catalog lists the counters; readers use them
//
// If it ends early, it leaves counters that nobody reads. The next begin removes them.
func (c *Collection) countPrefixes(ix *Index, n int, turn func() error) error {
	it, err := c.beginCounting(ix, n)
	if it == nil || err != nil {
		return err
	}
	defer ix.counting.And(^prefixBit(n))
	err = c.addPrefixCounts(it, ix, n, turn)
	if err = errors.Join(err, storageError(it.Close())); err != nil {
		if errors.Is(err, ErrDropped) {
			return nil
		}
		return err
	}
	return c.completeCounting(ix, n)
}

// beginCounting makes all later writes move the counters, and returns an iterator over the keys without those writes. The iterator is
// nil when the counters exist or cannot be kept.
func (c *Collection) beginCounting(ix *Index, n int) (*pebble.Iterator, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.has(ix) || ix.multikey.Load()>>n != 0 || (ix.counted.Load()|ix.counting.Load())&prefixBit(n) != 0 {
		return nil, nil
	}
	if err := c.e.space.check(0); err != nil {
		return nil, nil
	}
	counters := c.prefixKey(ix, n, nil)
	if err := c.e.db.DeleteRange(counters, Successor(counters), pebble.NoSync); err != nil {
		return nil, err
	}
	c.e.dirty.Add(1)
	header := c.IndexPrefix(ix)
	it, err := c.e.db.NewIter(&pebble.IterOptions{LowerBound: header, UpperBound: Successor(header)})
	if err != nil {
		return nil, storageError(err)
	}
	ix.counting.Or(prefixBit(n))
	return it, nil
}

// addPrefixCounts adds the number of the iterator's keys below each prefix to its counter.
func (c *Collection) addPrefixCounts(it *pebble.Iterator, ix *Index, n int, turn func() error) error {
	b := c.e.db.NewBatch()
	defer func() { b.Close() }()
	var prefix []byte
	keys, run := 0, int64(0)
	for ok := it.First(); ok; ok = it.Next() {
		if keys++; keys%countedAtOnce == 0 {
			if err := turn(); err != nil {
				return err
			}
		}
		f := EntryFields(it.Key())
		if len(prefix) > 0 && bytes.HasPrefix(f, prefix) {
			run++
			continue
		}
		if run > 0 {
			if err := addCounter(b, c.prefixKey(ix, n, prefix), run); err != nil {
				return err
			}
		}
		if b.Len() >= countersBatch {
			if err := c.applyCounters(b, ix); err != nil {
				return err
			}
			b.Reset()
		}
		prefix, run = append(prefix[:0], f[:prefixLen(ix, f, n)]...), 1
	}
	if err := it.Error(); err != nil {
		return storageError(err)
	}
	if run > 0 {
		if err := addCounter(b, c.prefixKey(ix, n, prefix), run); err != nil {
			return err
		}
	}
	return c.applyCounters(b, ix)
}

// applyCounters applies a batch of counters, unless the index was dropped: ErrDropped.
func (c *Collection) applyCounters(b *pebble.Batch, ix *Index) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if !c.has(ix) {
		return ErrDropped
	}
	if err := c.e.space.check(b.Len()); err != nil {
		return err
	}
	c.e.dirty.Add(1)
	return c.e.db.Apply(b, pebble.NoSync)
}

// completeCounting lets readers use the counters. All counters precede the record in the log.
func (c *Collection) completeCounting(ix *Index, n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.has(ix) {
		return nil
	}
	c.meta.Lock()
	defer c.meta.Unlock()
	ix.counted.Or(prefixBit(n))
	b := c.e.db.NewBatch()
	defer b.Close()
	if err := c.putRecord(b, c.nextIx, c.AllIndexes()); err != nil {
		return err
	}
	c.e.dirty.Add(1)
	return c.e.db.Apply(b, pebble.NoSync)
}

// has reports whether the collection exists and has the index. The caller holds mu.
func (c *Collection) has(ix *Index) bool { return !c.dropped && slices.Contains(c.AllIndexes(), ix) }
