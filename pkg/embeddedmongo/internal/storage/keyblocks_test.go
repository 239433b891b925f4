package storage

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// moved is a collection with an index of a field that changes.
func moved(t *testing.T, e *Engine, n int) (*Collection, *Index) {
	t.Helper()
	c := collection(t, e)
	key, err := bson.Marshal(bson.D{{Key: "at", Value: 1}})
	require.NoError(t, err)
	_, err = c.CreateIndex(t.Context(), IndexSpec{Name: "at_1", Key: key}, noTurns)
	require.NoError(t, err)
	add(t, c, 0, n)
	return c, c.Indexes()[1]
}

// add inserts the documents with the numbers from one to another.
func add(t *testing.T, c *Collection, from, to int) {
	t.Helper()
	var docs []value.Doc
	for i := from; i < to; i++ {
		docs = append(docs, encoded(t, bson.D{{Key: "_id", Value: i}, {Key: "at", Value: i}}))
	}
	_, _, err := insertAll(c, docs, true)
	require.NoError(t, err)
}

// counted is the number of keys of a range by blocks, and by the keys themselves in the same view.
func counted(t *testing.T, c *Collection, ix *Index, r Range) (blocks, keys int64, ok bool) {
	t.Helper()
	list, v, ok, err := c.BlocksView(ix, []Range{r})
	require.NoError(t, err)
	if !ok {
		return 0, 0, false
	}
	defer func() { require.NoError(t, v.Close()) }()
	walk := func(lo, hi []byte) (n int64) {
		it, err := v.Iter(lo, hi)
		require.NoError(t, err)
		for more := it.First(); more; more = it.Next() {
			n++
		}
		return n
	}
	b := list[0]
	require.Len(t, b.Counts, len(b.Starts))
	if len(b.Starts) == 0 {
		return walk(r.Lo, r.Hi), walk(r.Lo, r.Hi), true
	}
	blocks = walk(r.Lo, b.Starts[0]) + walk(b.End, r.Hi)
	for _, n := range b.Counts {
		blocks += n
	}
	return blocks, walk(r.Lo, r.Hi), true
}

func rangeOf(c *Collection, ix *Index, from, to int) Range {
	number := func(n int) []byte {
		return append(c.IndexPrefix(ix), value.AppendKey(nil, value.OfInt(int64(n)), false)...)
	}
	return Range{Lo: number(from), Hi: number(to)}
}

// Blocks count the keys of every range exactly, while parts are divided and writes move keys.
func TestBlocksCountKeys(t *testing.T) {
	t.Parallel()
	e, closing := opened(t, vfs.NewMem())
	defer closing()
	const n = 10_000
	c, ix := moved(t, e, n)
	_, _, ok := counted(t, c, ix, rangeOf(c, ix, 0, n))
	require.False(t, ok, "not divided")
	rnd := rand.New(rand.NewPCG(1, 2))
	next := n
	w := e.Begin(false, true)
	steps, covered := 0, 0
	for more := true; more || steps < 20; steps++ {
		var err error
		more, err = c.divide(ix)
		require.NoError(t, err)
		for range 50 {
			id := value.AppendKey(nil, value.OfInt(int64(rnd.IntN(n))), false)
			require.NoError(t, c.Modify(w, id, func(old value.Doc) (value.Doc, Action, error) {
				if rnd.IntN(3) == 0 {
					return nil, Delete, nil
				}
				number, _ := old.Get("_id").Int()
				return encoded(t, bson.D{{Key: "_id", Value: int(number)}, {Key: "at", Value: rnd.IntN(next)}}), Replace, nil
			}))
		}
		add(t, c, next, next+1000) // The last block grows, and is divided again.
		next += 1000
		for range 5 {
			from := rnd.IntN(next)
			r := rangeOf(c, ix, from, from+rnd.IntN(next))
			blocks, keys, ok := counted(t, c, ix, r)
			require.Equal(t, keys, blocks)
			if ok {
				covered++
			}
		}
	}
	require.Positive(t, covered)
	require.NoError(t, w.Wait())
	e.tasks.Wait()
	for more := true; more; {
		var err error
		more, err = c.divide(ix)
		require.NoError(t, err)
	}
	for _, b := range ix.blocks.list {
		require.LessOrEqual(t, b.keys.Load(), int64(largestBlock))
	}
	blocks, keys, ok := counted(t, c, ix, Range{Lo: c.IndexPrefix(ix), Hi: Successor(c.IndexPrefix(ix))})
	require.True(t, ok)
	require.Equal(t, c.Count(), keys)
	require.Equal(t, keys, blocks)
}

// A count by blocks sees each document once while writers move documents between blocks.
func TestBlocksBesideWrites(t *testing.T) {
	t.Parallel()
	e, closing := opened(t, vfs.NewMem())
	defer closing()
	const n = 12_000
	c, ix := moved(t, e, n)
	c.Divide(ix)
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			rnd := rand.New(rand.NewPCG(3, uint64(i)))
			w := e.Begin(false, true)
			for range 2000 {
				id := value.AppendKey(nil, value.OfInt(int64(rnd.IntN(n))), false)
				err := c.Modify(w, id, func(old value.Doc) (value.Doc, Action, error) {
					number, _ := old.Get("_id").Int()
					fresh, err := bson.Marshal(bson.D{{Key: "_id", Value: int(number)}, {Key: "at", Value: rnd.IntN(n)}})
					return fresh, Replace, err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all := Range{Lo: c.IndexPrefix(ix), Hi: Successor(c.IndexPrefix(ix))}
	for range 200 {
		if blocks, keys, ok := counted(t, c, ix, all); ok {
			require.EqualValues(t, n, keys)
			require.EqualValues(t, n, blocks)
		}
	}
	writers.Wait()
	e.tasks.Wait()
	blocks, _, ok := counted(t, c, ix, all)
	require.True(t, ok)
	require.EqualValues(t, n, blocks)
}
