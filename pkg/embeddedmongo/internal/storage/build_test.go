package storage

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// numbered inserts documents with the ids from 0 and a field n with the same number.
func numbered(t *testing.T, c *Collection, count int) {
	t.Helper()
	for i := range count {
		stored, err := insert(c, i, bson.E{Key: "n", Value: i})
		require.NoError(t, err)
		require.True(t, stored)
	}
}

func specification(t *testing.T, path string) IndexSpec {
	t.Helper()
	key := encoded(t, bson.D{{Key: path, Value: 1}})
	return IndexSpec{Name: DefaultIndexName(key), Key: bson.Raw(key)}
}

// noTurns lets a build work without interruption.
func noTurns() error { return nil }

func documentKey(c *Collection, id any) []byte {
	return append(c.DocPrefix(), value.AppendKey(nil, value.Of(id), false)...)
}

// heldBuild starts a build that waits for the lock of a document, and returns when the documents before it are indexed.
func heldBuild(ctx context.Context, t *testing.T, c *Collection, spec IndexSpec, id int) (release func(), built <-chan error) {
	t.Helper()
	for freeID(c, id) != id { // An earlier document has its lock, and the build would wait for that one.
		c.e.docs.seed = maphash.MakeSeed()
	}
	_, before := c.e.IndexBuilds()
	held := c.e.docs.lock(documentKey(c, id))
	done := make(chan error, 1)
	go func() {
		_, err := c.CreateIndex(ctx, spec, ctx.Err)
		done <- err
	}()
	require.Eventually(t, func() bool {
		building, documents := c.e.IndexBuilds()
		return building == 1 && documents-before >= int64(id/MaxInserted*MaxInserted)
	}, time.Minute, time.Millisecond)
	return held.Unlock, done
}

// freeID returns an id above a number whose document lock no document up to it has.
func freeID(c *Collection, below int) int {
	stripe := func(id int) uint64 { return c.e.docs.hash(documentKey(c, id)) % uint64(len(c.e.docs.mu)) }
	taken := map[uint64]bool{}
	for i := range below {
		taken[stripe(i)] = true
	}
	for id := below; ; id++ {
		if !taken[stripe(id)] {
			return id
		}
	}
}

func TestClientsWriteAndReadDuringAnIndexBuild(t *testing.T) {
	t.Parallel()
	e, closing := opened(t, vfs.NewMem())
	defer closing()
	c := collection(t, e)
	numbered(t, c, 3*MaxInserted)
	_, err := c.CreateIndex(t.Context(), specification(t, "other"), noTurns)
	require.NoError(t, err)
	release, built := heldBuild(t.Context(), t, c, specification(t, "n"), 2*MaxInserted)
	added := freeID(c, 3*MaxInserted)
	stored, err := insert(c, added, bson.E{Key: "n", Value: bson.A{1, 2}})
	require.NoError(t, err)
	require.True(t, stored)
	require.Len(t, c.Indexes(), 2, "readers do not see the index")
	dropped := make(chan error, 1)
	go func() {
		_, err := c.DropIndexes(func(ix *Index) bool { return ix.Spec.Name == "other_1" })
		dropped <- err
	}()
	release()
	require.NoError(t, errors.Join(<-built, <-dropped))
	require.Len(t, c.Indexes(), 2)
	require.NotZero(t, c.Indexes()[1].Multikey(), "a write during the build had a list")
	building, documents := e.IndexBuilds()
	require.Zero(t, building)
	require.GreaterOrEqual(t, documents, int64(6*MaxInserted))
	sound(t, e)
}

// Two calls for one index make one index; the second waits for the first.
func TestOneBuildOfAnIndexAtATime(t *testing.T) {
	t.Parallel()
	e, closing := opened(t, vfs.NewMem())
	defer closing()
	c := collection(t, e)
	numbered(t, c, 10)
	spec := specification(t, "n")
	release, built := heldBuild(t.Context(), t, c, spec, 5)
	second := make(chan bool, 1)
	go func() {
		created, err := c.CreateIndex(t.Context(), spec, noTurns)
		second <- created || err != nil
	}()
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.CreateIndex(impatient, spec, noTurns)
	require.ErrorIs(t, err, context.Canceled)
	release()
	require.NoError(t, <-built)
	require.False(t, <-second)
	require.Len(t, c.Indexes(), 2)
	sound(t, e)
}

// Keys of an interrupted build are not part of the next one.
func TestAnInterruptedBuildLeavesNothing(t *testing.T) {
	t.Parallel()
	e, closing := opened(t, vfs.NewMem())
	defer closing()
	c := collection(t, e)
	numbered(t, c, 3*MaxInserted)
	ctx, cancel := context.WithCancel(t.Context())
	release, built := heldBuild(ctx, t, c, specification(t, "n"), 2*MaxInserted)
	cancel()
	release()
	require.ErrorIs(t, <-built, context.Canceled)
	require.Len(t, c.Indexes(), 1)
	removeHalf(t, c, 3*MaxInserted)
	created, err := c.CreateIndex(t.Context(), specification(t, "n"), noTurns)
	require.NoError(t, err)
	require.True(t, created)
	sound(t, e)
}

// removeHalf deletes the documents with even ids.
func removeHalf(t *testing.T, c *Collection, below int) {
	t.Helper()
	for id := 0; id < below; id += 2 {
		w := c.e.Begin(true, false)
		require.NoError(t, c.Modify(w, documentKey(c, id)[DocHeader:], func(value.Doc) (value.Doc, Action, error) { return nil, Delete, nil }))
		require.NoError(t, w.Wait())
	}
}

// A crash during a build leaves a collection without the index; the next start builds it from the beginning.
func TestACrashDuringABuild(t *testing.T) {
	t.Parallel()
	fs := vfs.NewCrashableMem()
	e, err := Open("data", Options{FS: fs})
	require.NoError(t, err)
	c := collection(t, e)
	numbered(t, c, 2*MaxInserted)
	release, built := heldBuild(t.Context(), t, c, specification(t, "n"), MaxInserted)
	stored, err := insert(c, freeID(c, 2*MaxInserted), bson.E{Key: "n", Value: bson.A{1, 2}}) // Its record has the list's mark too.
	require.NoError(t, err)
	require.True(t, stored)
	require.NoError(t, e.sync())
	crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rand.New(rand.NewPCG(1, 2))})
	release()
	require.NoError(t, <-built)
	require.NoError(t, e.Close())

	e, err = Open("data", Options{FS: crashed})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	c = e.Lookup("d", "c")
	require.Len(t, c.Indexes(), 1)
	sound(t, e)
	removeHalf(t, c, 2*MaxInserted)
	_, err = c.CreateIndex(t.Context(), specification(t, "n"), noTurns)
	require.NoError(t, err)
	require.Len(t, c.Indexes(), 2)
	sound(t, e)
}

// Existing duplicates fail the build of a unique index, and duplicates written during the build are refused.
func TestAUniqueIndexIsBuiltBesideWrites(t *testing.T) {
	t.Parallel()
	e, closing := opened(t, vfs.NewMem())
	defer closing()
	c := collection(t, e)
	numbered(t, c, 2*MaxInserted)
	spec := specification(t, "n")
	spec.Unique = true
	release, built := heldBuild(t.Context(), t, c, spec, MaxInserted)
	id := freeID(c, 2*MaxInserted)
	stored, err := insert(c, id, bson.E{Key: "n", Value: 0}) // Document 0 is indexed.
	require.NoError(t, err)
	require.False(t, stored)
	stored, err = insert(c, id, bson.E{Key: "n", Value: 2*MaxInserted - 1}) // That document is not yet.
	require.NoError(t, err)
	require.True(t, stored)
	release()
	require.True(t, mongoerr.Is(<-built, mongoerr.DuplicateKeyKind))
	require.Len(t, c.Indexes(), 1)
	stored, err = insert(c, freeID(c, id+1), bson.E{Key: "n", Value: 0})
	require.NoError(t, err)
	require.True(t, stored, "the failed build binds nobody")
	sound(t, e)
}

// Whatever clients write during builds, the indexes agree with the documents.
func TestIndexesBuiltUnderLoadAreSound(t *testing.T) {
	t.Parallel()
	e, closing := opened(t, vfs.NewMem())
	defer closing()
	c := collection(t, e)
	const documents = 2000
	random := func(rnd *rand.Rand, id int) bson.D {
		d := bson.D{{Key: "_id", Value: id}, {Key: "a", Value: rnd.IntN(20)}}
		if rnd.IntN(3) == 0 {
			d = append(d, bson.E{Key: "b", Value: bson.A{rnd.IntN(5), rnd.IntN(5)}})
		}
		return d
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	for id := range documents {
		require.NoError(t, c.Insert(e.Begin(true, false), encoded(t, random(rnd, id))))
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for w := range errs {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(2, uint64(w)))
			for !stop.Load() && errs[w] == nil {
				id := rnd.IntN(documents + 200)
				b, err := bson.Marshal(random(rnd, id))
				if err == nil {
					err = c.Modify(e.Begin(true, false), documentKey(c, id)[DocHeader:], func(value.Doc) (value.Doc, Action, error) {
						return b, []Action{Keep, Replace, Replace, Delete}[rnd.IntN(4)], nil
					})
				}
				if err == nil {
					err = c.Insert(e.Begin(true, false), b)
				}
				if !mongoerr.Is(err, mongoerr.DuplicateKeyKind) {
					errs[w] = err
				}
			}
		})
	}
	for round := range 3 {
		for i, spec := range []IndexSpec{
			{Key: bson.Raw(encoded(t, bson.D{{Key: "a", Value: 1}, {Key: "b", Value: -1}}))},
			{Key: bson.Raw(encoded(t, bson.D{{Key: "b", Value: 1}})), Sparse: true},
			{Key: bson.Raw(encoded(t, bson.D{{Key: "a", Value: -1}})), Partial: bson.Raw(encoded(t, bson.D{{Key: "b", Value: bson.D{{Key: "$exists", Value: true}}}}))},
		} {
			spec.Name = fmt.Sprint("x", i)
			created, err := c.CreateIndex(t.Context(), spec, noTurns)
			require.NoError(t, err)
			require.True(t, created)
		}
		if round < 2 {
			_, err := c.DropIndexes(func(*Index) bool { return true })
			require.NoError(t, err)
		}
	}
	stop.Store(true)
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Len(t, c.Indexes(), 4)
	sound(t, e)
}

// A reader has the indexes that were complete when it began, with their entries: not later ones, and still those that are dropped.
func TestReaderHasTheIndexesOfItsState(t *testing.T) {
	t.Parallel()
	e, closing := opened(t, vfs.NewMem())
	defer closing()
	c := collection(t, e)
	numbered(t, c, 10)
	before, err := c.Reader()
	require.NoError(t, err)
	_, err = c.CreateIndex(t.Context(), specification(t, "n"), noTurns)
	require.NoError(t, err)
	after, err := c.Reader()
	require.NoError(t, err)
	ix := c.Indexes()[1]
	_, err = c.DropIndexes(func(*Index) bool { return true })
	require.NoError(t, err)
	last, err := c.Reader()
	require.NoError(t, err)
	require.NotContains(t, before.Indexes(), ix)
	require.Contains(t, after.Indexes(), ix)
	require.NotContains(t, last.Indexes(), ix)
	entries, err := after.View().Iter(c.IndexPrefix(ix), Successor(c.IndexPrefix(ix)))
	require.NoError(t, err)
	n := 0
	for ok := entries.First(); ok; ok = entries.Next() {
		n++
	}
	require.Equal(t, 10, n)
	require.NoError(t, errors.Join(before.Close(), after.Close(), last.Close()))
}
