package storage

import (
	"bytes"
	"context"

	"github.com/cockroachdb/pebble/v2"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Sweep removes the documents that have expired by their TTL indexes and returns their number. A document expires when the
// least date in the indexed field is older than the index allows; without a date it never does.
func (e *Engine) Sweep(ctx context.Context) (removed int, err error) {
	if err := e.Failure(); err != nil {
		return 0, err
	}
	e.reclaim()
	for _, c := range e.Collections("") {
		for _, ix := range c.Indexes() {
			if ix.Spec.Expire == nil {
				continue
			}
			n, err := c.sweep(ctx, ix)
			removed += n
			if err != nil {
				return removed, err
			}
		}
	}
	return removed, nil
}

// reclaim flushes deletions of a full disk, so compactions can free their space. Without further writes they would stay in the
// memtable.
func (e *Engine) reclaim() {
	if !e.space.full.Load() {
		return
	}
	if _, err := e.db.AsyncFlush(); err != nil {
		e.opts.Logger.Warn("failed to flush on a full disk", "error", err)
	}
}

// sweepBatch is the number of documents removed with one sync.
const sweepBatch = 500

func (c *Collection) sweep(ctx context.Context, ix *Index) (removed int, err error) {
	for {
		if err := c.e.Failure(); err != nil {
			return removed, err
		}
		limit := c.e.Now().UnixMilli() - *ix.Spec.Expire*1000
		ids, err := c.expired(ix, limit)
		if err != nil || len(ids) == 0 {
			return removed, err
		}
		w := c.e.Begin(true, true)
		gone := 0
		for _, id := range ids {
			if err = ctx.Err(); err != nil {
				break
			}
			err = c.Modify(w, id, func(old value.Doc) (value.Doc, Action, error) {
				// The document may have changed since the index was read.
				if !expires(ix, old, limit) {
					return nil, Keep, nil
				}
				gone++
				return nil, Delete, nil
			})
			if err != nil {
				break
			}
		}
		if werr := w.Wait(); err == nil {
			err = werr
		}
		removed += gone
		if err != nil || len(ids) < sweepBatch || gone == 0 {
			return removed, err
		}
	}
}

// expired lists documents with a date of at most limit in the index.
func (c *Collection) expired(ix *Index, limit int64) ([][]byte, error) {
	desc := ix.Fields[0].Desc
	header := c.IndexPrefix(ix)
	lo := append(bytes.Clone(header), classByte(value.ClassDate, desc))
	hi := append(bytes.Clone(header), value.AppendKey(nil, value.OfDate(limit), desc)...)
	if desc {
		lo, hi = hi, Successor(lo)
	} else {
		hi = Successor(hi)
	}
	it, err := c.e.db.NewIter(&pebble.IterOptions{LowerBound: lo, UpperBound: hi})
	if err != nil {
		return nil, storageError(err)
	}
	defer it.Close()
	var ids [][]byte
	for ok := it.First(); ok && len(ids) < sweepBatch; ok = it.Next() {
		ids = append(ids, bytes.Clone(EntryID(it.Key())))
	}
	return ids, storageError(it.Error())
}

func classByte(class byte, desc bool) byte {
	if desc {
		return ^class
	}
	return class
}

func expires(ix *Index, d value.Doc, limit int64) bool {
	if ix.Partial != nil {
		if !ix.Partial.Match(d) {
			return false
		}
	}
	v := d.Path(ix.Fields[0].Parts())
	list := []value.Value{v}
	if v.T == bson.TypeArray {
		list = v.Doc().Values()
	}
	for _, e := range list {
		if e.T == bson.TypeDateTime && e.Int64() <= limit {
			return true
		}
	}
	return false
}
