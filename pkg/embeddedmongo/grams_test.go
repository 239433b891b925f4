package embeddedmongo_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// gramPieces are parts of texts: letters whose other case has other bytes, and words that repeat. The server refuses invalid UTF-8.
var gramPieces = []string{
	"run", "-", "Run ", "amber", "AMBER", "fox", "1", "23", "7", "\u212a", "k", "K", "\u017f", "s", "S", "\u00df", "\u1e9e", "\u0130", "\u0131", "i", "I",
	"\u00e9", "\u00c9", "\u03c3", "\u03c2", "\u03a3", "\u6771\u4eac", "\ufffd", "\x00", "%", "\n", "\U0001f600", "\u01c5", "\u01c4",
}

type gramWorld struct {
	t   *testing.T
	rnd *rand.Rand
	c   *mongo.Collection
	s   *embeddedmongo.Server
}

func (w *gramWorld) text(most int) string {
	var b strings.Builder
	for range w.rnd.IntN(most + 1) {
		b.WriteString(gramPieces[w.rnd.IntN(len(gramPieces))])
	}
	return b.String()
}

func gramIndexes(t *testing.T, c *mongo.Collection) {
	t.Helper()
	for _, keys := range []D{
		{{Key: "ws", Value: 1}, {Key: "name", Value: "grams"}},
		{{Key: "ws", Value: 1}, {Key: "at", Value: "chunks"}, {Key: "message", Value: "grams"}, {Key: "resource.v", Value: "grams"}, {Key: "related.labels.v", Value: "grams"}},
	} {
		_, err := c.Indexes().CreateOne(context.WithoutCancel(t.Context()), mongo.IndexModel{Keys: keys})
		require.NoError(t, err)
	}
}

func newGramWorld(t *testing.T, seed uint64) *gramWorld {
	t.Helper()
	s, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true, SweepInterval: -1})
	c := cl.Database("d").Collection("c")
	for _, keys := range []D{
		{{Key: "ws", Value: 1}, {Key: "name", Value: 1}, {Key: "_id", Value: 1}},
		{{Key: "ws", Value: 1}, {Key: "run", Value: 1}, {Key: "at", Value: 1}, {Key: "_id", Value: 1}},
		{{Key: "ws", Value: 1}, {Key: "at", Value: 1}, {Key: "_id", Value: 1}, {Key: "level", Value: 1}},
	} {
		_, err := c.Indexes().CreateOne(context.WithoutCancel(t.Context()), mongo.IndexModel{Keys: keys})
		require.NoError(t, err)
	}
	return &gramWorld{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), c: c, s: s}
}

// at is a time in one of some chunks, seldom another value.
func (w *gramWorld) at() any {
	switch n := int64(w.rnd.IntN(40)<<25) + int64(w.rnd.IntN(1<<25)); w.rnd.IntN(40) {
	case 0:
		return nil
	case 1:
		return "late"
	case 2:
		return float64(n) + 0.5
	case 3:
		return -n
	case 4:
		return []any{math.NaN(), math.Inf(1), math.Inf(-1), int64(math.MaxInt64), int64(math.MinInt64), int32(7), true}[w.rnd.IntN(7)]
	default:
		return n
	}
}

func (w *gramWorld) document(id int) D {
	d := D{{Key: "_id", Value: id}, {Key: "ws", Value: w.rnd.IntN(10) / 9}, {Key: "at", Value: w.at()}, {Key: "run", Value: w.rnd.IntN(8)}, {Key: "level", Value: w.rnd.IntN(3)}}
	if w.rnd.IntN(20) > 0 {
		d = append(d, bson.E{Key: "name", Value: w.text(3)}, bson.E{Key: "message", Value: w.text(8)})
	}
	if w.rnd.IntN(3) == 0 {
		d = append(d, bson.E{Key: "resource", Value: A{D{{Key: "k", Value: "x"}, {Key: "v", Value: w.text(3)}}, D{{Key: "v", Value: A{w.text(2)}}}}})
		d = append(d, bson.E{Key: "related", Value: A{D{{Key: "labels", Value: A{D{{Key: "v", Value: w.text(4)}}}}}}})
	}
	switch w.rnd.IntN(300) {
	case 0:
		d = append(d, bson.E{Key: "note", Value: strings.Repeat("x", 10)}, bson.E{Key: "resource", Value: A{D{{Key: "v", Value: strings.Repeat("ab", 9<<10) + "needle"}}}})
	case 1:
		d = append(d, bson.E{Key: "related", Value: D{{Key: "labels", Value: D{{Key: "v", Value: w.text(4)}}}}})
	}
	return d
}

func (w *gramWorld) insert(from, to int) {
	var docs []any
	for i := from; i < to; i++ {
		docs = append(docs, w.document(i))
	}
	_, err := w.c.InsertMany(context.WithoutCancel(w.t.Context()), docs)
	require.NoError(w.t, err)
}

// condition searches a path for a text with wildcards.
func (w *gramWorld) condition(path string) bson.E {
	text := w.text(3)
	pattern := strings.ReplaceAll(strings.ReplaceAll(regexp.QuoteMeta(strings.Trim(text, "%")), "\x00", `\x00`), "%", `[\s\S]*`)
	if w.rnd.IntN(8) == 0 {
		pattern = "^" + pattern
	}
	condition := M{"$regex": pattern}
	if w.rnd.IntN(6) > 0 {
		condition["$options"] = "i"
	}
	return bson.E{Key: path, Value: condition}
}

func (w *gramWorld) filter() D {
	f := D{{Key: "ws", Value: w.rnd.IntN(10) / 9}}
	if w.rnd.IntN(2) == 0 {
		f = append(f, w.condition("name"))
	} else {
		var terms, all A
		for range 1 + w.rnd.IntN(2) {
			for _, path := range []string{"message", "resource.v", "related.labels.v"} {
				terms = append(terms, D{w.condition(path)})
			}
		}
		all = append(all, D{{Key: "$or", Value: terms}})
		if w.rnd.IntN(3) == 0 {
			all = append(all, D{w.condition("message")})
		}
		f = append(f, bson.E{Key: "$and", Value: all})
		if w.rnd.IntN(4) == 0 {
			e := w.condition("resource.v")
			f = append(f, bson.E{Key: "resource.v", Value: M{"$not": e.Value}})
		}
	}
	switch w.rnd.IntN(6) {
	case 0:
		f = append(f, bson.E{Key: "run", Value: w.rnd.IntN(8)})
	case 1:
		f = append(f, bson.E{Key: "run", Value: M{"$in": A{1, 3, 5}}})
	case 2:
		f = append(f, bson.E{Key: "at", Value: M{"$gte": int64(w.rnd.IntN(20)) << 25, "$lt": int64(w.rnd.IntN(20)+20) << 25}})
	case 3:
		f = append(f, bson.E{Key: "level", Value: 1})
	}
	return f
}

func (w *gramWorld) find(f D, o *options.FindOptionsBuilder) []int32 {
	w.t.Helper()
	cursor, err := w.c.Find(context.WithoutCancel(w.t.Context()), f, o.SetProjection(M{"_id": 1}))
	require.NoError(w.t, err)
	var rows []struct {
		ID int32 `bson:"_id"`
	}
	require.NoError(w.t, cursor.All(context.WithoutCancel(w.t.Context()), &rows))
	ids := make([]int32, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	return ids
}

// compare compares the replies to random searches with those of a scan of all documents.
func (w *gramWorld) compare(searches int) {
	w.t.Helper()
	natural := func() *options.FindOptionsBuilder { return options.Find().SetHint(M{"$natural": 1}) }
	for range searches {
		f := w.filter()
		want := w.find(f, natural())
		got := w.find(f, options.Find())
		slices.Sort(got)
		require.Equal(w.t, want, got, "%v", f)
		n, err := w.c.CountDocuments(context.WithoutCancel(w.t.Context()), f)
		require.NoError(w.t, err)
		require.EqualValues(w.t, len(want), n, "%v", f)
		for _, direction := range []int{1, -1} {
			order := D{{Key: "at", Value: direction}, {Key: "_id", Value: direction}}
			skip, limit := int64(w.rnd.IntN(3)), int64(1+w.rnd.IntN(30))
			want := w.find(f, natural().SetSort(order).SetSkip(skip).SetLimit(limit))
			require.Equal(w.t, want, w.find(f, options.Find().SetSort(order).SetSkip(skip).SetLimit(limit)), "%v by %v", f, order)
		}
		var runs, wanted []int
		require.NoError(w.t, w.c.Distinct(context.WithoutCancel(w.t.Context()), "run", f).Decode(&runs))
		require.NoError(w.t, w.c.Distinct(context.WithoutCancel(w.t.Context()), "run", f, options.Distinct().SetHint(M{"$natural": 1})).Decode(&wanted))
		require.Equal(w.t, wanted, runs, "%v", f)
	}
}

// Searches by an index of trigrams find what scans find: after inserts, renames and deletions, after stale postings were removed, and
// when documents are inserted into buckets whose postings were removed.
func TestSearchesByTrigramsFindWhatScansFind(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			ctx := context.WithoutCancel(t.Context())
			w := newGramWorld(t, seed)
			if seed%2 == 0 {
				gramIndexes(t, w.c)
			}
			w.insert(0, 3000)
			gramIndexes(t, w.c)
			w.compare(60)
			for range 200 {
				id := w.rnd.IntN(3000)
				_, err := w.c.UpdateByID(ctx, id, M{"$set": M{"name": w.text(3), "message": w.text(8), "at": w.at()}})
				require.NoError(t, err)
			}
			w.compare(30)
			_, err := w.c.DeleteMany(ctx, M{"_id": M{"$lt": 2200}})
			require.NoError(t, err)
			w.compare(20)
			removed, err := embeddedmongo.RemoveStale(w.s)
			require.NoError(t, err)
			require.Positive(t, removed)
			w.compare(20)
			w.insert(3000, 5000)
			w.compare(30)
			report, err := w.s.Check(ctx)
			require.NoError(t, err)
			require.True(t, report.OK(), "%v", report)
		})
	}
}

// A search reads the documents of the chunks that have its trigrams, and a page the values that have them.
func TestSearchesByTrigramsReadLittle(t *testing.T) {
	t.Parallel()
	ctx := context.WithoutCancel(t.Context())
	w := newGramWorld(t, 1)
	gramIndexes(t, w.c)
	var docs []any
	for i := range 30_000 {
		docs = append(docs, D{
			{Key: "_id", Value: i},
			{Key: "ws", Value: 1},
			{Key: "at", Value: int64(i) << 23},
			{Key: "name", Value: fmt.Sprint("name-", i)},
			{Key: "message", Value: fmt.Sprint("run ", i, " has ended")},
			{Key: "level", Value: 1},
		})
	}
	_, err := w.c.InsertMany(ctx, docs)
	require.NoError(t, err)
	search := func(path, text string) D {
		return D{{Key: "ws", Value: 1}, {Key: path, Value: M{"$regex": text, "$options": "i"}}}
	}
	for _, q := range []struct {
		filter     D
		direction  int
		rows, docs int64
	}{
		{search("message", "RUN 12345 "), -1, 1, 40},
		{search("message", "RUN 12345 "), 1, 1, 40},
		{search("message", "absent"), -1, 0, 0},
		{search("message", "ended"), -1, 20, 20},
		{search("name", "E-1234"), 1, 11, 11},
		{search("name", "absent"), -1, 0, 0},
	} {
		e := explain(t, w.c, D{
			{Key: "find", Value: "c"},
			{Key: "filter", Value: q.filter},
			{Key: "limit", Value: 20},
			{Key: "sort", Value: D{{Key: "at", Value: q.direction}, {Key: "_id", Value: q.direction}}},
		})
		require.Equal(t, q.rows, e.ExecutionStats.NReturned, "%v", q.filter)
		require.LessOrEqual(t, e.ExecutionStats.TotalDocsExamined, q.docs, "%v", q.filter)
		require.LessOrEqual(t, e.ExecutionStats.TotalKeysExamined, q.docs+20, "%v", q.filter)
	}
	_, scan := explain(t, w.c, D{{Key: "count", Value: "c"}, {Key: "query", Value: search("message", "run 12345 ")}}).stages(t)
	require.Equal(t, "ws_1_at_chunks_message_grams_resource.v_grams_related.labels.v_grams", scan.Lookup("gramIndexName").StringValue())
	// Texts that are too short for trigrams read keys and documents, as without the index.
	n, err := w.c.CountDocuments(ctx, search("message", "12"))
	require.NoError(t, err)
	require.Greater(t, n, int64(1000))
}
