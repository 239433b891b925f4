package storage

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// churn changes documents at random, each by one of several lists, so that entries come back again and again.
func churn(t require.TestingT, c *Collection, rnd *rand.Rand, documents, changes int) {
	for range changes {
		id := rnd.IntN(documents)
		d := bson.D{{Key: "_id", Value: id}, {Key: "a", Value: rnd.IntN(3)}}
		if rnd.IntN(3) == 0 {
			d = append(d, bson.E{Key: "b", Value: bson.A{rnd.IntN(2), rnd.IntN(2)}})
		}
		b, err := bson.Marshal(d)
		require.NoError(t, err)
		err = c.Modify(c.e.Begin(true, false), documentKey(c, id)[DocHeader:], func(value.Doc) (value.Doc, Action, error) {
			return b, []Action{Replace, Replace, Delete}[rnd.IntN(3)], nil
		})
		require.NoError(t, err)
		if err := c.Insert(c.e.Begin(true, false), b); err != nil {
			require.True(t, mongoerr.Is(err, mongoerr.DuplicateKeyKind), err)
		}
	}
}

var buildable = []bson.D{{{Key: "a", Value: 1}}, {{Key: "b", Value: 1}}, {{Key: "a", Value: -1}, {Key: "b", Value: 1}}}

// indexBeside builds an index while others change documents.
func indexBeside(t tester, c *Collection, key bson.D, rnd *rand.Rand, documents, changes int) {
	var writers sync.WaitGroup
	for range 2 {
		rnd := rand.New(rand.NewPCG(rnd.Uint64(), 1))
		writers.Go(func() { churn(t, c, rnd, documents, changes) })
	}
	raw, err := bson.Marshal(key)
	require.NoError(t, err)
	_, err = c.CreateIndex(t.Context(), IndexSpec{Name: DefaultIndexName(raw), Key: raw, Sparse: len(key) == 1 && key[0].Key == "b"}, noTurns)
	writers.Wait()
	require.NoError(t, err)
}

// Whatever is written, flushed, compacted, built, dropped and recovered from the log, each entry is set once between two deletions:
// no compaction brings one back.
func TestEntriesAreSetOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		fs := vfs.NewCrashableMem()
		e, err := Open("data", Options{FS: fs})
		require.NoError(t, err)
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		documents := rapid.IntRange(1, 100).Draw(t, "documents")
		var snapshot *pebble.Snapshot
		unpin := func() {
			if snapshot != nil {
				require.NoError(t, snapshot.Close())
				snapshot = nil
			}
		}
		for range rapid.IntRange(1, 15).Draw(t, "steps") {
			c := collection(t, e)
			switch step := rapid.SampledFrom([]string{"churn", "churn", "churn", "flush", "compact", "index", "drop", "crash", "snapshot"}).Draw(t, "step"); step {
			case "churn":
				churn(t, c, rnd, documents, 60)
			case "flush":
				require.NoError(t, e.db.Flush())
			case "compact":
				require.NoError(t, e.Compact(t.Context()))
			case "index":
				indexBeside(t, c, rapid.SampledFrom(buildable).Draw(t, "key"), rnd, documents, 30)
			case "drop":
				name := rapid.SampledFrom(buildable).Draw(t, "key")
				raw, err := bson.Marshal(name)
				require.NoError(t, err)
				_, err = c.DropIndexes(func(ix *Index) bool { return ix.Spec.Name == DefaultIndexName(raw) })
				require.NoError(t, err)
			case "crash":
				unpin()
				require.NoError(t, e.sync())
				after := fs.CrashClone(vfs.CrashCloneCfg{})
				require.NoError(t, e.Close())
				require.Zero(t, e.resetTwice.Load())
				fs = after
				e, err = Open("data", Options{FS: fs})
				require.NoError(t, err)
			case "snapshot":
				unpin()
				snapshot = e.db.NewSnapshot()
			}
			sound(t, e)
		}
		unpin()
		for _, ix := range collection(t, e).Indexes()[1:] {
			require.True(t, ix.Spec.SetOnce)
		}
		require.NoError(t, errors.Join(e.db.Flush(), e.Compact(t.Context())))
		sound(t, e)
		require.Zero(t, e.resetTwice.Load(), "entries were set twice")
		require.NoError(t, e.Close())
	})
}

// A document that is changed within one memtable leaves only its last entries: no entry and no deletion of those between.
func TestChangesWithinAMemtableLeaveNoDeletions(t *testing.T) {
	t.Parallel()
	e, closing := opened(t, vfs.NewMem())
	defer closing()
	c := collection(t, e)
	_, err := c.CreateIndex(t.Context(), specification(t, "state"), noTurns)
	require.NoError(t, err)
	for id := range 100 {
		stored, err := insert(c, id, bson.E{Key: "state", Value: 0})
		require.NoError(t, err)
		require.True(t, stored)
		for state := 1; state < 4; state++ {
			require.NoError(t, c.Modify(e.Begin(true, false), documentKey(c, id)[DocHeader:], func(value.Doc) (value.Doc, Action, error) {
				return encoded(t, bson.D{{Key: "_id", Value: id}, {Key: "state", Value: state}}), Replace, nil
			}))
		}
	}
	require.NoError(t, e.db.Flush())
	levels, err := e.db.SSTables(pebble.WithProperties())
	require.NoError(t, err)
	require.Len(t, levels[0], 1)
	properties := levels[0][0].Properties
	require.Equal(t, properties.NumRangeDeletions, properties.NumDeletions, "the build began with a deletion of all")
	sound(t, e)
}

// An index of an earlier version may hold entries that its build set again.
func TestEntriesOfEarlierBuildsAreDeletedWithAllTheirVersions(t *testing.T) {
	t.Parallel()
	e, closing := opened(t, vfs.NewMem())
	defer closing()
	c := collection(t, e)
	numbered(t, c, 10)
	_, err := c.CreateIndex(t.Context(), specification(t, "n"), noTurns)
	require.NoError(t, err)
	ix := c.Indexes()[1]
	ix.Spec.SetOnce = false // As its catalog record says.
	b := e.db.NewBatch()
	for id := range 10 {
		key := entryKey(c.IndexPrefix(ix), value.AppendKey(nil, value.Of(id), false), documentKey(c, id)[DocHeader:])
		require.NoError(t, b.Set(key, nil, nil))
	}
	require.NoError(t, e.db.Apply(b, pebble.NoSync))
	require.NoError(t, b.Close())
	removeHalf(t, c, 10)
	require.NoError(t, errors.Join(e.db.Flush(), e.Compact(t.Context())))
	sound(t, e)
	require.Zero(t, e.resetTwice.Load(), fmt.Sprint("entries of ", ix.Spec.Name))
}
