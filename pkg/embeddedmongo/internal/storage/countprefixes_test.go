package storage

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// tenancy is a collection with an index on the fields ws and state.
func tenancy(t tester, e *Engine) (*Collection, *Index) {
	c, err := e.Collection("d", "runs")
	require.NoError(t, err)
	key, err := bson.Marshal(bson.D{{Key: "ws", Value: 1}, {Key: "state", Value: 1}})
	require.NoError(t, err)
	_, err = c.CreateIndex(t.Context(), IndexSpec{Name: "ws_1_state_1", Key: key}, noTurns)
	require.NoError(t, err)
	return c, c.Indexes()[1]
}

func workspaceRun(t require.TestingT, id, ws int, state any) value.Doc {
	d, err := bson.Marshal(bson.D{{Key: "_id", Value: id}, {Key: "ws", Value: ws}, {Key: "state", Value: state}})
	require.NoError(t, err)
	return d
}

// addRuns inserts runs with the ids from one number to another: five workspaces with three states each.
func addRuns(t require.TestingT, c *Collection, from, to int) {
	var docs []value.Doc
	for i := from; i < to; i++ {
		docs = append(docs, workspaceRun(t, i, i%5, i%3))
	}
	_, _, err := insertAll(c, docs, true)
	require.NoError(t, err)
}

func workspaceCount(t require.TestingT, c *Collection, ix *Index, ws int) (n int64, ok bool) {
	r, err := c.Reader()
	require.NoError(t, err)
	defer r.Close()
	counts, ok, err := r.PrefixCounts(ix, 1, [][]byte{value.AppendKey(nil, value.OfInt(int64(ws)), false)})
	require.NoError(t, err)
	if !ok {
		return 0, false
	}
	return counts[0], true
}

func requireSound(t tester, e *Engine) {
	reports, err := e.Check(t.Context())
	require.NoError(t, err)
	for _, r := range reports {
		require.Empty(t, r.Problems)
	}
}

// Counters are exact when documents are inserted, changed and deleted between all steps of their making, by values and by arrays.
func TestCountersMadeBesideWrites(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		e, closing := opened(rt, vfs.NewMem())
		defer closing()
		c, ix := tenancy(rt, e)
		n := rapid.IntRange(1, 3*countedAtOnce).Draw(rt, "runs")
		addRuns(rt, c, 0, n)
		arrays := rapid.Bool().Draw(rt, "arrays")
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0))
		w := e.Begin(false, true)
		write := func() error {
			for range 20 {
				id := rnd.IntN(n)
				var state any = rnd.IntN(3)
				if arrays && rnd.IntN(4) == 0 {
					state = bson.A{0, rnd.IntN(3)}
				}
				err := c.Modify(w, value.AppendKey(nil, value.OfInt(int64(id)), false), func(value.Doc) (value.Doc, Action, error) {
					if rnd.IntN(3) == 0 {
						return nil, Delete, nil
					}
					return workspaceRun(rt, id, rnd.IntN(6), state), Replace, nil
				})
				require.NoError(rt, err)
			}
			addRuns(rt, c, n, n+5)
			n += 5
			return nil
		}
		for _, fields := range []int{1, 2} {
			require.NoError(rt, c.countPrefixes(ix, fields, write))
			require.NoError(rt, write())
		}
		_, ok := workspaceCount(rt, c, ix, 0)
		require.Equal(rt, ix.Multikey()>>1 == 0 || ok, ok)
		requireSound(rt, e)
	})
}

// Writers do not wait while prefixes are counted: they write between two turns, and the counters have their documents.
func TestWritersBesideCountersInTheMaking(t *testing.T) {
	t.Parallel()
	e, closing := opened(t, vfs.NewMem())
	defer closing()
	c, ix := tenancy(t, e)
	addRuns(t, c, 0, 3*countedAtOnce)
	held, goOn := make(chan struct{}), make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		first := true
		err := c.countPrefixes(ix, 1, func() error {
			if first {
				first = false
				close(held)
				<-goOn
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-held
	_, ok := workspaceCount(t, c, ix, 0)
	require.False(t, ok, "incomplete")
	addRuns(t, c, 3*countedAtOnce, 3*countedAtOnce+500)
	close(goOn)
	done.Wait()
	n, ok := workspaceCount(t, c, ix, 0)
	require.True(t, ok)
	require.EqualValues(t, (3*countedAtOnce+500+4)/5, n)
	requireSound(t, e)
}

// Counters that were not completed are not read after a restart, and do not add to those that are made later.
func TestCountersAfterAnInterruption(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	e, closing := opened(t, fs)
	c, ix := tenancy(t, e)
	addRuns(t, c, 0, 2*countedAtOnce)
	interruption := errors.New("interruption")
	turns := 0
	err := c.countPrefixes(ix, 2, func() error { turns++; return interruption })
	require.ErrorIs(t, err, interruption)
	require.Equal(t, 1, turns)
	addRuns(t, c, 2*countedAtOnce, 2*countedAtOnce+100)
	it, err := c.beginCounting(ix, 1) // The server ends here.
	require.NoError(t, err)
	addRuns(t, c, 2*countedAtOnce+100, 2*countedAtOnce+200)
	require.NoError(t, it.Close())
	closing()

	e, closing = opened(t, fs)
	defer closing()
	c = e.Lookup("d", "runs")
	ix = c.Indexes()[1]
	_, ok := workspaceCount(t, c, ix, 1)
	require.False(t, ok)
	for _, n := range []int{1, 2} {
		require.NoError(t, c.countPrefixes(ix, n, noTurns))
	}
	n, ok := workspaceCount(t, c, ix, 1)
	require.True(t, ok)
	require.EqualValues(t, (2*countedAtOnce+200+3)/5, n)
	requireSound(t, e)
}

// An index or a collection that is dropped meanwhile ends the count, and leaves nothing.
func TestCountersOfWhatIsDropped(t *testing.T) {
	t.Parallel()
	for name, drop := range map[string]func(*Engine, *Collection) error{
		"index": func(_ *Engine, c *Collection) error {
			_, err := c.DropIndexes(func(*Index) bool { return true })
			return err
		},
		"collection": func(e *Engine, c *Collection) error { return e.Drop(c) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, closing := opened(t, vfs.NewMem())
			defer closing()
			c, ix := tenancy(t, e)
			addRuns(t, c, 0, countedAtOnce)
			require.NoError(t, c.countPrefixes(ix, 2, func() error { return drop(e, c) }))
			it, err := e.db.NewIter(nil)
			require.NoError(t, err)
			counters := tagged(tagPrefix, c.ID)
			require.False(t, it.SeekGE(counters) && string(it.Key()) < string(Successor(counters)))
			require.NoError(t, it.Close())
		})
	}
}

// Documents are counted in the background, once.
func TestCountersAreMadeInTheBackground(t *testing.T) {
	t.Parallel()
	e, closing := opened(t, vfs.NewMem())
	defer closing()
	c, ix := tenancy(t, e)
	addRuns(t, c, 0, 3*countedAtOnce)
	e.counting.Lock()
	for range 3 {
		c.KeepPrefixCounts(ix, 1)
	}
	_, ok := workspaceCount(t, c, ix, 0)
	require.False(t, ok)
	e.counting.Unlock()
	e.tasks.Wait()
	n, ok := workspaceCount(t, c, ix, 0)
	require.True(t, ok)
	require.EqualValues(t, (3*countedAtOnce+4)/5, n)
	require.Zero(t, ix.counting.Load())
	require.Zero(t, ix.queued.Load())
	requireSound(t, e)
}

// BenchmarkLongestWriteBesideNewCounters measures how long a write waits at most while the documents of an index are counted.
func BenchmarkLongestWriteBesideNewCounters(b *testing.B) {
	for _, docs := range []int{20_000, 1_000_000} {
		b.Run(fmt.Sprintf("documents=%d", docs), func(b *testing.B) {
			e, closing := opened(b, vfs.NewMem())
			defer closing()
			c, ix := tenancy(b, e)
			addRuns(b, c, 0, docs)
			var longest, total time.Duration
			for b.Loop() {
				ix.counted.Store(0)
				began := time.Now()
				c.KeepPrefixCounts(ix, 1)
				for n := docs; ix.counted.Load() == 0; n++ {
					write := time.Now()
					w := e.Begin(false, false)
					require.NoError(b, c.Modify(w, value.AppendKey(nil, value.OfInt(int64(n%docs)), false), func(value.Doc) (value.Doc, Action, error) {
						return workspaceRun(b, n%docs, n%5, n%3), Replace, nil
					}))
					longest = max(longest, time.Since(write))
				}
				total += time.Since(began)
				e.tasks.Wait()
			}
			b.ReportMetric(float64(longest.Microseconds()), "us-longest-write")
			b.ReportMetric(float64(total.Milliseconds())/float64(b.N), "ms-walk")
		})
	}
}
