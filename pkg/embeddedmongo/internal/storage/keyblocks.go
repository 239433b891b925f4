package storage

import (
	"bytes"
	"runtime"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

const (
	// blockKeys is the number of keys of a new block.
	blockKeys = 2048
	// largestBlock is the number of keys above which a block is divided.
	largestBlock = 4 * blockKeys
	// dividedAtOnce bounds the keys that are read while writes wait: about a millisecond.
	dividedAtOnce = 2 * blockKeys
)

// keyBlocks divide the keys of an index into blocks, and count the keys of each:
//
//	│ 2048 │ 2051 │ 1990 │ 5120 │   not divided yet
//	0      a      b      c      known
//
// Offsets and counts of ranges then add blocks, and read only the keys at their ends. Writes move the numbers in memory. Nothing is
// stored: the first large walk after a start divides the index again.
//
// The mutex of the collection guards the list: it is held shared while numbers move, and exclusively while the list changes.
type keyBlocks struct {
	list  []*keyBlock
	known []byte // The keys before it are divided; nil when all are.
}

// keyBlock has the keys from its first one until the next block.
type keyBlock struct {
	first []byte
	keys  atomic.Int64
}

// at is the position of the block of a key.
func (b *keyBlocks) at(key []byte) int {
	return sort.Search(len(b.list), func(i int) bool { return bytes.Compare(b.list[i].first, key) > 0 }) - 1
}

// of is the block of a key that a write adds or removes; nil when its part of the index is not divided yet.
func (b *keyBlocks) of(key []byte) *keyBlock {
	if b == nil || b.known != nil && bytes.Compare(key, b.known) >= 0 {
		return nil
	}
	return b.list[b.at(key)]
}

// Blocks are blocks of adjacent keys: block i begins at Starts[i] and ends where the next one begins, the last one at End.
type Blocks struct {
	Starts [][]byte
	Counts []int64
	End    []byte
}

// between lists the blocks within a range. ok is false when a part of the range is not divided, and large when a block that the range
// touches is too large.
func (b *keyBlocks) between(lo, hi []byte) (out Blocks, large, ok bool) {
	if !b.covers(hi) {
		return out, false, false
	}
	first, last := b.at(lo), b.at(hi)
	large = b.list[first].keys.Load() > largestBlock || b.list[last].keys.Load() > largestBlock
	if first++; first >= last {
		return out, large, true
	}
	for _, k := range b.list[first:last] {
		n := k.keys.Load()
		large = large || n > largestBlock
		out.Starts, out.Counts = append(out.Starts, k.first), append(out.Counts, n)
	}
	out.End = b.list[last].first
	return out, large, true
}

// hasWhole reports whether a whole block is within a divided range.
func (b *keyBlocks) hasWhole(r Range) bool { return b.covers(r.Hi) && b.at(r.Lo)+1 < b.at(r.Hi) }

// covers reports whether the keys before one are divided.
func (b *keyBlocks) covers(hi []byte) bool {
	return b != nil && hi != nil && (b.known == nil || bytes.Compare(hi, b.known) <= 0)
}

// Range is the range of keys [Lo, Hi).
type Range struct{ Lo, Hi []byte }

// Blocks lists the blocks of keys within a range. Their numbers may include writes that a view does not show. ok is false when the
// index is not divided there.
func (c *Collection) Blocks(ix *Index, r Range) (b Blocks, ok bool) {
	c.mu.RLock()
	b, large, ok := ix.blocks.between(r.Lo, r.Hi)
	c.mu.RUnlock()
	if large {
		c.Divide(ix)
	}
	return b, ok
}

// BlocksView lists the blocks of several ranges, with a view that shows exactly their keys. ok is false, without a view, when the
// index is not divided there, or when no range has a whole block: writes do not wait for a count of few keys.
func (c *Collection) BlocksView(ix *Index, ranges []Range) (list []Blocks, v *View, ok bool, err error) {
	c.mu.RLock()
	whole := slices.ContainsFunc(ranges, func(r Range) bool { return ix.blocks.hasWhole(r) })
	c.mu.RUnlock()
	if !whole {
		return nil, nil, false, nil
	}
	divide := false
	list, v, ok, err = func() (list []Blocks, v *View, ok bool, err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, r := range ranges {
			b, large, ok := ix.blocks.between(r.Lo, r.Hi)
			if !ok {
				return nil, nil, false, nil
			}
			divide = divide || large
			list = append(list, b)
		}
		v, err = c.View()
		return list, v, err == nil, err
	}()
	if divide {
		c.Divide(ix)
	}
	return list, v, ok, err
}

// Divide divides the keys of an index, and its large blocks, in the background. Writes wait for a part of it at most.
func (c *Collection) Divide(ix *Index) {
	if ix.IsID() || !ix.dividing.CompareAndSwap(false, true) {
		return
	}
	c.e.tasks.Go(func() {
		defer ix.dividing.Store(false)
		for more := true; more && !c.e.closing.Load(); runtime.Gosched() {
			var err error
			if more, err = c.divide(ix); err != nil {
				c.e.opts.Logger.Warn("divide index", "collection", c.Name, "index", ix.Spec.Name, "error", err)
				return
			}
		}
	})
}

// divide divides the next part of an index; more is false when nothing is left.
func (c *Collection) divide(ix *Index) (more bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.has(ix) {
		ix.blocks = nil
		return false, nil
	}
	header := c.IndexPrefix(ix)
	if ix.blocks == nil {
		ix.blocks = &keyBlocks{list: []*keyBlock{{first: header}}, known: header}
	}
	b := ix.blocks
	if b.known != nil {
		return true, b.extend(c, Successor(header))
	}
	at := slices.IndexFunc(b.list, func(k *keyBlock) bool { return k.keys.Load() > largestBlock })
	if at < 0 {
		return false, nil
	}
	return true, b.split(c, at, Successor(header))
}

// extend counts the next keys that are not divided yet.
func (b *keyBlocks) extend(c *Collection, end []byte) error {
	last := b.list[len(b.list)-1]
	added, next, err := c.blocksFrom(b.known, end)
	if err != nil {
		return err
	}
	// The keys that follow the last block begin at the first new one.
	if last.keys.Load() == 0 && len(added) > 0 {
		last.keys.Store(added[0].keys.Load())
		added = added[1:]
	}
	b.list, b.known = append(b.list, added...), next
	return nil
}

// split divides a large block. A very large one keeps most keys in its last part.
func (b *keyBlocks) split(c *Collection, at int, end []byte) error {
	whole := b.list[at]
	if at+1 < len(b.list) {
		end = b.list[at+1].first
	}
	parts, next, err := c.blocksFrom(whole.first, end)
	if err != nil || len(parts) == 0 {
		return err
	}
	left := whole.keys.Load()
	for _, p := range parts {
		left -= p.keys.Load()
	}
	parts[0].first = whole.first
	if next != nil {
		rest := &keyBlock{first: next}
		rest.keys.Store(left)
		parts = append(parts, rest)
	}
	b.list = slices.Replace(b.list, at, at+1, parts...)
	return nil
}

// blocksFrom counts keys in blocks, up to a number. next is the first key that is not counted; nil at the end.
func (c *Collection) blocksFrom(from, end []byte) (list []*keyBlock, next []byte, err error) {
	it, err := c.e.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: end})
	if err != nil {
		return nil, nil, storageError(err)
	}
	defer it.Close()
	n := int64(0)
	for ok := it.First(); ok; ok = it.Next() {
		if n == dividedAtOnce {
			return list, bytes.Clone(it.Key()), nil
		}
		if n%blockKeys == 0 {
			list = append(list, &keyBlock{first: bytes.Clone(it.Key())})
		}
		list[len(list)-1].keys.Add(1)
		n++
	}
	return list, nil, storageError(it.Error())
}
