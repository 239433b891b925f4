package storage

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/grams"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

func specOf(t *testing.T, keys bson.D) IndexSpec {
	t.Helper()
	key := encoded(t, keys)
	return IndexSpec{Name: DefaultIndexName(key), Key: bson.Raw(key)}
}

var (
	nameEntries = bson.D{{Key: "ws", Value: 1}, {Key: "name", Value: 1}, {Key: "_id", Value: 1}}
	nameGrams   = bson.D{{Key: "ws", Value: 1}, {Key: "name", Value: "grams"}}
	timeEntries = bson.D{{Key: "ws", Value: 1}, {Key: "at", Value: 1}, {Key: "_id", Value: 1}}
	timeGrams   = bson.D{{Key: "ws", Value: 1}, {Key: "at", Value: "chunks"}, {Key: "message", Value: "grams"}}
)

// texts is a collection with both kinds of indexes of trigrams.
func texts(t *testing.T, e *Engine) *Collection {
	t.Helper()
	c := collection(t, e)
	for _, keys := range []bson.D{nameEntries, nameGrams, timeEntries, timeGrams} {
		_, err := c.CreateIndex(t.Context(), specOf(t, keys), noTurns)
		require.NoError(t, err)
	}
	return c
}

func addText(t *testing.T, c *Collection, id int, name string, at int64) {
	t.Helper()
	stored, err := insert(c, id, bson.E{Key: "ws", Value: 1}, bson.E{Key: "name", Value: name}, bson.E{Key: "at", Value: at}, bson.E{Key: "message", Value: "message of " + name})
	require.NoError(t, err)
	require.True(t, stored)
}

func removeText(t *testing.T, c *Collection, id int) {
	t.Helper()
	require.NoError(t, c.Modify(c.e.Begin(true, false), value.AppendKey(nil, value.Of(id), false), func(value.Doc) (value.Doc, Action, error) { return nil, Delete, nil }))
}

// countPostings counts the postings of the indexes of trigrams.
func countPostings(t *testing.T, c *Collection) (n int) {
	t.Helper()
	for _, ix := range c.GramIndexes() {
		prefix := c.IndexPrefix(ix)
		it, err := c.e.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: Successor(prefix)})
		require.NoError(t, err)
		for ok := it.First(); ok; ok = it.Next() {
			n++
		}
		require.NoError(t, it.Close())
	}
	return n
}

// A name, and a trigram of a chunk, are written once.
func TestPostingsAreNotRepeated(t *testing.T) {
	t.Parallel()
	e, closing := opened(t, vfs.NewMem())
	defer closing()
	c := texts(t, e)
	addText(t, c, 0, "amber-fox", 1)
	postings, bytes := countPostings(t, c), e.db.Metrics().WAL.BytesIn
	addText(t, c, 1, "amber-fox", 2)
	again := e.db.Metrics().WAL.BytesIn - bytes
	require.Equal(t, postings, countPostings(t, c))
	require.Less(t, again, uint64(400), "bytes of the second document")
	addText(t, c, 2, "amber-fox", 1<<ChunkBits)
	require.Greater(t, countPostings(t, c), postings, "another chunk")
	sound(t, e)
}

// Check finds a document without a posting.
func TestCheckFindsMissingPostings(t *testing.T) {
	t.Parallel()
	e, closing := opened(t, vfs.NewMem())
	defer closing()
	c := texts(t, e)
	addText(t, c, 0, "amber-fox", 1)
	key := c.GramPrefix(c.GramIndexes()[0], value.AppendKey(nil, value.Of(1), false), grams.Distinct([]byte("fox"), 2)[0])
	require.NoError(t, e.db.DeleteRange(key, Successor(key), pebble.NoSync))
	reports, err := e.Check(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{`document {"$numberInt":"0"} has no posting in index ws_1_name_grams`}, reports[0].Problems)
}

// Postings of buckets without documents go. Those of a bucket that got a document meanwhile stay.
func TestStalePostingsAreRemoved(t *testing.T) {
	t.Parallel()
	e, closing := opened(t, vfs.NewMem())
	defer closing()
	c := texts(t, e)
	for i := range 400 {
		addText(t, c, i, fmt.Sprint("name ", i/2), int64(i)<<(ChunkBits-2))
	}
	for i := range 390 {
		removeText(t, c, i)
	}
	before := countPostings(t, c)
	for _, ix := range c.GramIndexes() {
		stale, _, err := c.stalePostings(ix, c.IndexPrefix(ix), map[string]bool{})
		require.NoError(t, err)
		require.NotEmpty(t, stale)
		for i := range 390 { // Every bucket has documents again before the postings go.
			addText(t, c, 1000+i, fmt.Sprint("name ", i/2), int64(i)<<(ChunkBits-2))
		}
		removed, err := c.removePostings(ix, stale)
		require.NoError(t, err)
		require.Zero(t, removed)
		for i := range 390 {
			removeText(t, c, 1000+i)
		}
	}
	removed, err := c.removeStale(t.Context())
	require.NoError(t, err)
	require.Equal(t, before-removed, countPostings(t, c))
	require.Less(t, countPostings(t, c), before/10)
	for i := range 390 {
		addText(t, c, 2000+i, fmt.Sprint("name ", i/2), int64(i)<<(ChunkBits-2))
	}
	require.Equal(t, before, countPostings(t, c), "the postings that were removed are not remembered")
	sound(t, e)
}

// Writers, a build and removals work at once, and each document has its postings.
func TestPostingsBesideBuildsAndRemovals(t *testing.T) {
	t.Parallel()
	e, closing := opened(t, vfs.NewMem())
	defer closing()
	c := collection(t, e)
	for _, keys := range []bson.D{nameEntries, timeEntries} {
		_, err := c.CreateIndex(t.Context(), specOf(t, keys), noTurns)
		require.NoError(t, err)
	}
	for i := range 2000 {
		addText(t, c, i, fmt.Sprint("old ", i%50), int64(i)<<(ChunkBits-3))
	}
	var next atomic.Int64
	next.Store(2000)
	done := make(chan struct{})
	var writers, cleaner sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(next.Add(1)), 0))
			for range 1500 {
				id := int(next.Add(1))
				addText(t, c, id, fmt.Sprint("name ", rnd.IntN(30)), int64(rnd.IntN(30))<<ChunkBits)
				if rnd.IntN(8) > 0 {
					removeText(t, c, id)
				}
			}
		})
	}
	cleaner.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				_, err := c.removeStale(context.WithoutCancel(t.Context()))
				require.NoError(t, err)
			}
		}
	})
	for _, keys := range []bson.D{nameGrams, timeGrams} {
		_, err := c.CreateIndex(t.Context(), specOf(t, keys), noTurns)
		require.NoError(t, err)
	}
	writers.Wait()
	close(done)
	cleaner.Wait()
	sound(t, e)
}

// After a crash every document that is left has its postings, whatever was written, remembered or removed before.
func TestPostingsAfterACrash(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 4))
	fs := vfs.NewCrashableMem()
	e, closing := opened(t, fs)
	c := texts(t, e)
	for round := range 6 {
		for i := range 150 {
			id := round*1000 + i
			addText(t, c, id, fmt.Sprint("name ", rnd.IntN(20)), int64(rnd.IntN(20))<<ChunkBits)
			if rnd.IntN(3) > 0 {
				removeText(t, c, id)
			}
			if i%50 == 0 {
				_, err := c.removeStale(t.Context())
				require.NoError(t, err)
			}
			if i == 75 {
				require.NoError(t, e.db.LogData(nil, pebble.Sync))
			}
		}
		crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rnd.IntN(101), RNG: rnd})
		closing()
		fs = crashed
		e, closing = opened(t, fs)
		c = collection(t, e)
		require.Len(t, c.GramIndexes(), 2)
		sound(t, e)
	}
	closing()
}

func TestSpecificationsOfTrigrams(t *testing.T) {
	t.Parallel()
	for _, keys := range []bson.D{
		{{Key: "ws", Value: 1}},
		{{Key: "ws", Value: 1}, {Key: "name", Value: "grams"}, {Key: "at", Value: 1}},
		{{Key: "ws", Value: -1}, {Key: "name", Value: "grams"}},
		{{Key: "ws", Value: 1}, {Key: "name", Value: "grams"}, {Key: "other", Value: "grams"}},
		{{Key: "ws", Value: 1}, {Key: "at", Value: "chunks"}},
		{{Key: "ws", Value: 1}, {Key: "name", Value: "grams"}, {Key: "at", Value: "chunks"}},
		{{Key: "ws", Value: 1}, {Key: "at", Value: "chunks"}, {Key: "by", Value: "chunks"}, {Key: "name", Value: "grams"}},
		{{Key: "ws", Value: 1}, {Key: "at", Value: "chunks"}, {Key: "x", Value: 1}, {Key: "name", Value: "grams"}},
		{{Key: "ws", Value: 1}, {Key: "names.0", Value: "grams"}},
		{{Key: "ws", Value: 1}, {Key: "name", Value: "text"}},
	} {
		_, err := NewIndex(specOf(t, keys))
		require.Equal(t, len(keys) == 1, err == nil, "%v: %v", keys, err)
	}
	unique := specOf(t, nameGrams)
	unique.Unique = true
	_, err := NewIndex(unique)
	require.ErrorContains(t, err, "not unique")
	ix, err := NewIndex(specOf(t, timeGrams))
	require.NoError(t, err)
	require.True(t, ix.Grams.Chunks)
	require.Len(t, ix.Fields, 2)
}

// Chunks have the order of encoded times, and begin at their starts.
func TestChunks(t *testing.T) {
	t.Parallel()
	times := rapid.OneOf(
		rapid.Custom(func(t *rapid.T) any { return rapid.Int64().Draw(t, "long") }),
		rapid.Custom(func(t *rapid.T) any { return rapid.Int64Range(-1<<40, 1<<40).Draw(t, "time") }),
		rapid.Custom(func(t *rapid.T) any { return rapid.Float64().Draw(t, "double") }),
		rapid.SampledFrom([]any{bson.Null{}, "text", true, math.NaN(), math.Inf(1), math.Inf(-1), 0.0, int64(math.MaxInt64), int64(math.MinInt64), bson.DateTime(7), strings.Repeat("x", 9)}),
	)
	rapid.Check(t, func(t *rapid.T) {
		a, b := value.AppendKey(nil, value.Of(times.Draw(t, "a")), false), value.AppendKey(nil, value.Of(times.Draw(t, "b")), false)
		if string(a) > string(b) {
			a, b = b, a
		}
		require.LessOrEqual(t, Chunk(a), Chunk(b))
		for _, x := range [][]byte{a, b} {
			for _, chunk := range []uint64{Chunk(a), Chunk(b)} {
				require.Equal(t, Chunk(x) < chunk, string(x) < string(AppendChunkStart(nil, chunk)), "%x and chunk %d", x, chunk)
				require.Equal(t, chunk, ChunkOf(AppendChunk(nil, chunk)))
			}
		}
	})
}

// Documents of a batch that repeat the texts of earlier ones have all of their postings.
func TestBatchesOfAlikeTexts(t *testing.T) {
	t.Parallel()
	pool := []string{"", "ab", "amber", "Amber", "ambers", "bright-moon", "k\u212as", strings.Repeat("long ", maxGramText/8), strings.Repeat("other", maxGramText/8)}
	for i := range 20 {
		pool = append(pool, fmt.Sprintf("name %d", i))
	}
	rapid.Check(t, func(rt *rapid.T) {
		e, closing := opened(t, vfs.NewMem())
		defer closing()
		c := texts(t, e)
		id := 0
		for range rapid.IntRange(1, 3).Draw(rt, "batches") {
			var docs []value.Doc
			for range rapid.IntRange(1, 60).Draw(rt, "documents") {
				id++
				message := any(rapid.SampledFrom(pool).Draw(rt, "message"))
				switch rapid.IntRange(0, 5).Draw(rt, "kind") {
				case 0:
					message = rapid.SliceOfN(rapid.SampledFrom(pool), 0, 3).Draw(rt, "messages")
				case 1:
					message = bson.Regex{Pattern: "a"}
				}
				at := any(int64(rapid.IntRange(0, 2).Draw(rt, "chunk")) << ChunkBits)
				if _, one := message.(string); one && rapid.IntRange(0, 9).Draw(rt, "times") == 0 {
					at = bson.A{int64(0), int64(1), int64(1) << ChunkBits}
				}
				docs = append(docs, encoded(t, bson.D{
					{Key: "_id", Value: id},
					{Key: "ws", Value: rapid.IntRange(0, 1).Draw(rt, "workspace")},
					{Key: "name", Value: "n"},
					{Key: "at", Value: at},
					{Key: "message", Value: message},
				}))
			}
			errs, _, err := insertAll(c, docs, false)
			require.NoError(rt, err)
			for _, err := range errs {
				require.NoError(rt, err)
			}
			clear(docs)
		}
		sound(t, e)
	})
}
