package storage

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Pebble compacts what writes push down, and leaves the rest of a deletion for long: its levels are no larger than it wants them.
// So the engine compacts the key ranges in which much was deleted, in slices with pauses between them.
//
//	deletions pause, or are a tenth of the documents ──► flush ──► slices of the bottom level ──► garbage ≥ a tenth: compact, rest
const (
	// reclaimAfter is the number of deleted documents below which reclaiming is not considered.
	reclaimAfter = 1000
	// reclaimShare is the share of garbage from which a slice is compacted: it bounds the bytes rewritten for each byte reclaimed.
	reclaimShare = 0.1
	// reclaimSlice is the size of a slice, in bytes.
	reclaimSlice = 16 << 20
	// reclaimRest is the pause after a slice, as a multiple of its duration.
	reclaimRest = 2
	// reclaimRounds bounds the attempts: a compaction shows what it left.
	reclaimRounds = 3
	// pollInterval is the interval at which Reclaim reads the metrics of the store.
	pollInterval = 20 * time.Millisecond
	// statisticsPolls bounds the wait for the statistics of the tables: about ten seconds.
	statisticsPolls = 500
)

// deletions counts deleted documents, for the decision to reclaim their space.
type deletions struct {
	total atomic.Int64
	// seen is the total of the last question, and reclaimed that of the last one that was due. One goroutine asks.
	seen, reclaimed int64
}

// due reports whether documents were deleted since it was last due, and either few since the last question, or a tenth of
// the live ones.
func (d *deletions) due(live int64) bool {
	total := d.total.Load()
	paused := total-d.seen < reclaimAfter/2
	d.seen = total
	if n := total - d.reclaimed; n < reclaimAfter || !paused && n < live/10 {
		return false
	}
	d.reclaimed = total
	return true
}

// ReclaimDue reports whether to call Reclaim. One goroutine may call it, now and then.
func (e *Engine) ReclaimDue() bool {
	var live int64
	for _, c := range e.Collections("") {
		live += c.Count()
	}
	return e.Failure() == nil && e.deleted.due(live)
}

// Reclaim compacts the key ranges in which much was deleted. It rests after each of them, so clients hardly notice it. It returns
// the number of compacted slices.
func (e *Engine) Reclaim(ctx context.Context) (compacted int, err error) {
	if err := e.Failure(); err != nil {
		return 0, err
	}
	if err := e.db.Flush(); err != nil {
		return 0, storageError(err)
	}
	for range reclaimRounds {
		tables, err := e.statistics(ctx)
		if err != nil {
			return compacted, err
		}
		found := false
		for _, s := range slicesOf(tables, reclaimSlice) {
			if float64(s.garbage) < reclaimShare*float64(s.size) {
				continue
			}
			if err := e.calm(ctx); err != nil {
				return compacted, err
			}
			began := time.Now()
			if err := e.db.Compact(ctx, s.start, s.end, false); err != nil {
				return compacted, storageError(err)
			}
			compacted, found = compacted+1, true
			select {
			case <-ctx.Done():
				return compacted, ctx.Err()
			case <-time.After(reclaimRest * time.Since(began)):
			}
		}
		if !found {
			break
		}
	}
	return compacted, nil
}

// calm waits until level 0 has few tables. A slice is compacted from level 0 downwards, and blocks the compactions that keep level 0
// small. Behind a backlog of them writes would stall.
func (e *Engine) calm(ctx context.Context) error {
	return poll(ctx, func() bool { return e.db.Metrics().Levels[0].Sublevels < l0CompactionThreshold })
}

// statistics waits until the deletions in all tables are counted, which Pebble does in the background. It returns the tables. Pebble
// does not repeat a count that an error ended, so the wait is bounded.
func (e *Engine) statistics(ctx context.Context) (tables [][]pebble.SSTableInfo, err error) {
	polls := 0
	waited := poll(ctx, func() bool {
		if tables, err = e.db.SSTables(); err != nil {
			return true
		}
		polls++
		return e.db.Metrics().Table.InitialStatsCollectionComplete && (haveStatistics(tables) || polls >= statisticsPolls)
	})
	return tables, errors.Join(waited, storageError(err))
}

// haveStatistics reports whether all tables have statistics. The metrics do not tell: a table is no longer pending while Pebble reads it.
// A table with statistics has entries.
func haveStatistics(levels [][]pebble.SSTableInfo) bool {
	for _, level := range levels {
		for _, t := range level {
			if t.TableStats.NumEntries == 0 {
				return false
			}
		}
	}
	return true
}

// poll waits until a condition holds.
func poll(ctx context.Context, holds func() bool) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return nil
}

// slice is a range of keys, with the bytes in it on all levels and how many of them a compaction drops.
type slice struct {
	start, end    []byte // The end is exclusive.
	bottom        uint64 // Bytes on the lowest level.
	size, garbage uint64
}

// slicesOf divides the keys into slices of whole tables of the lowest level that has any. The tables of the other levels
// count in each slice in proportion to what they overlap.
func slicesOf(levels [][]pebble.SSTableInfo, size uint64) []slice {
	lowest := len(levels) - 1
	for lowest > 0 && len(levels[lowest]) == 0 {
		lowest--
	}
	all := []slice{{start: []byte{0}}}
	for _, t := range levels[lowest] {
		if last := &all[len(all)-1]; lowest > 0 && last.bottom+t.Size/2 > size && bytes.Compare(last.start, t.Smallest.UserKey) < 0 {
			last.end = t.Smallest.UserKey
			all = append(all, slice{start: last.end})
		}
		last := &all[len(all)-1]
		last.bottom += t.Size
		last.size += t.Size
		last.garbage += garbageOf(t)
	}
	all[len(all)-1].end = bytes.Repeat([]byte{0xff}, 32)
	for _, level := range levels[:lowest] {
		for _, t := range level {
			spread(all, t)
		}
	}
	return all
}

// spread adds a table to the slices that it overlaps.
func spread(all []slice, t pebble.SSTableInfo) {
	overlaps := func(s slice) bool {
		return bytes.Compare(s.start, t.Largest.UserKey) <= 0 && bytes.Compare(t.Smallest.UserKey, s.end) < 0
	}
	var below uint64
	for _, s := range all {
		if overlaps(s) {
			below += s.bottom + 1 // A slice without tables counts too.
		}
	}
	for i, s := range all {
		if overlaps(s) {
			part := float64(s.bottom+1) / float64(below)
			all[i].size += uint64(part * float64(t.Size))
			all[i].garbage += uint64(part * float64(garbageOf(t)))
		}
	}
}

// garbageOf estimates the bytes that a compaction of a table drops: its deletions, and what they delete below.
func garbageOf(t pebble.SSTableInfo) uint64 {
	return t.TableStats.PointDeletionsBytesEstimate + t.TableStats.RangeDeletionsBytesEstimate
}
