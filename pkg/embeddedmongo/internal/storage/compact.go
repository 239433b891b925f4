package storage

import (
	"bytes"
	"context"
	"sync/atomic"
)

// reclaimAfter is the number of deleted documents after which their space is reclaimed, once the deletions have paused.
const reclaimAfter = 50_000

// deletions counts deleted documents, for the decision to reclaim their space.
type deletions struct {
	total atomic.Int64
	// seen is the total of the last question, and reclaimed that of the last compaction. One goroutine asks.
	seen, reclaimed int64
}

// due reports whether many documents were deleted since the last compaction, and few since the last question.
func (d *deletions) due() bool {
	total := d.total.Load()
	paused := total-d.seen < reclaimAfter/100
	d.seen = total
	if !paused || total-d.reclaimed < reclaimAfter {
		return false
	}
	d.reclaimed = total
	return true
}

// ReclaimDue reports whether a compaction would return the space of a large deletion that has paused. Pebble compacts by itself
// what writes push down, and leaves the rest of a deletion for long. One goroutine may call it, now and then.
func (e *Engine) ReclaimDue() bool { return e.Failure() == nil && e.deleted.due() }

// Compact rewrites all data without what was deleted.
func (e *Engine) Compact(ctx context.Context) error {
	if err := e.Failure(); err != nil {
		return err
	}
	return storageError(e.db.Compact(ctx, []byte{0}, bytes.Repeat([]byte{0xff}, 32), false))
}
