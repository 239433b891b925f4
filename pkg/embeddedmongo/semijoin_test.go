package embeddedmongo_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// relatedWorld has two collections whose documents refer to each other: a.ref to b._id, and b.back to a._id.
type relatedWorld struct {
	docs map[string][]bson.M
}

// newRelatedWorld inserts random documents. Some references dangle, are null, or missing; with lists some are lists.
func newRelatedWorld(ctx context.Context, t require.TestingT, db *mongo.Database, seed uint64, a, b int, indexed, lists bool) *relatedWorld {
	w := &relatedWorld{docs: map[string][]bson.M{}}
	sizes := map[string]int{"a": a, "b": b}
	random := rand.New(rand.NewPCG(seed, 0))
	reference := func(d bson.M, field string, size int) {
		pick := func() any { return owner(random.IntN(1<<30) % (size + size/4 + 2)) }
		switch random.IntN(1<<30) % 8 {
		case 0:
		case 1:
			d[field] = nil
		case 2:
			if d[field] = pick(); lists {
				d[field] = []bson.A{{}, {pick()}, {pick(), nil}, {pick(), pick()}}[random.IntN(1<<30)%4]
			}
		default:
			d[field] = pick()
		}
	}
	for _, name := range []string{"a", "b"} {
		n := sizes[name]
		field, size := "ref", sizes["b"]
		if name == "b" {
			field, size = "back", sizes["a"]
		}
		common := random.IntN(1<<30)%3 + 1
		for i := range n {
			d := bson.M{"_id": owner(i), "ws": int32(1 + random.IntN(1<<30)%10/9), "n": int32(random.IntN(1<<30) % 50), "kind": fmt.Sprint("kind-", random.IntN(1<<30)%(4*common))}
			reference(d, field, size)
			if r := random.IntN(1<<30) % (3 * common); r < 2 {
				d["opt"] = []any{"x", nil}[r]
			}
			if r := random.IntN(1<<30) % 4; r > 0 {
				d["tags"] = []bson.A{{}, {"s"}, {"s", "t"}}[r-1]
			}
			w.docs[name] = append(w.docs[name], d)
		}
		c := db.Collection(name)
		require.NoError(t, c.Drop(ctx))
		if len(w.docs[name]) > 0 {
			_, err := c.InsertMany(ctx, w.docs[name])
			require.NoError(t, err)
		}
		if !indexed {
			continue
		}
		for _, keys := range [][]string{{"_id"}, {field, "_id"}, {"kind", field}, {"kind", field, "n", "opt"}, {"kind", "_id"}, {"n", "_id", "kind"}, {"tags", "_id"}} {
			key := D{{Key: "ws", Value: 1}}
			for _, k := range keys {
				key = append(key, bson.E{Key: k, Value: 1})
			}
			_, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{Keys: key})
			require.NoError(t, err)
		}
		_, err := c.Indexes().CreateOne(ctx, mongo.IndexModel{
			Keys:    D{{Key: "ws", Value: 1}, {Key: "opt", Value: 1}, {Key: "_id", Value: 1}},
			Options: options.Index().SetPartialFilterExpression(M{"opt": M{"$exists": true}}),
		})
		require.NoError(t, err)
	}
	return w
}

// condition is a part of a filter, and its meaning.
type condition struct {
	filter D
	holds  func(d bson.M) bool
}

// ownCondition draws a condition on the document itself.
func ownCondition(t *rapid.T) condition {
	present := func(d bson.M, field string) bool { return d[field] != nil }
	n := int32(rapid.IntRange(-1, 51).Draw(t, "n"))
	kind := fmt.Sprint("kind-", rapid.IntRange(0, 5).Draw(t, "kind"))
	has := func(d bson.M, tag string) bool {
		list, _ := d["tags"].(bson.A)
		return slices.Contains(list, any(tag))
	}
	all := []condition{
		{D{{Key: "n", Value: M{"$lte": n}}}, func(d bson.M) bool { return d["n"].(int32) <= n }},
		{D{{Key: "n", Value: M{"$gt": n}}}, func(d bson.M) bool { return d["n"].(int32) > n }},
		{D{{Key: "kind", Value: kind}}, func(d bson.M) bool { return d["kind"] == kind }},
		{D{{Key: "kind", Value: M{"$nin": A{kind, nil}}}}, func(d bson.M) bool { return d["kind"] != kind }},
		{D{{Key: "kind", Value: M{"$in": A{kind, "kind-1"}}}}, func(d bson.M) bool { return d["kind"] == kind || d["kind"] == "kind-1" }},
		{D{{Key: "kind", Value: bson.Regex{Pattern: "[13]$"}}}, func(d bson.M) bool {
			return strings.HasSuffix(d["kind"].(string), "1") || strings.HasSuffix(d["kind"].(string), "3")
		}},
		{D{{Key: "opt", Value: nil}}, func(d bson.M) bool { return !present(d, "opt") }},
		{D{{Key: "opt", Value: M{"$ne": nil}}}, func(d bson.M) bool { return present(d, "opt") }},
		{D{{Key: "opt", Value: M{"$exists": false}}}, func(d bson.M) bool { _, ok := d["opt"]; return !ok }},
		{D{{Key: "tags", Value: M{"$in": A{nil, A{}}}}}, func(d bson.M) bool { return !has(d, "s") && !has(d, "t") }},
		{D{{Key: "tags", Value: M{"$nin": A{nil, A{}}}}}, func(d bson.M) bool { return has(d, "s") || has(d, "t") }},
		{D{{Key: "tags", Value: M{"$all": A{"s", "t"}}}}, func(d bson.M) bool { return has(d, "s") && has(d, "t") }},
		{D{{Key: "tags", Value: "t"}}, func(d bson.M) bool { return has(d, "t") }},
	}
	return rapid.SampledFrom(all).Draw(t, "own")
}

// stages draws the selection of a collection in its workspace: own conditions, and relations up to a depth.
func (w *relatedWorld) stages(t *rapid.T, from string, depth int) (stages A, holds func(bson.M) bool) {
	tests := []func(bson.M) bool{func(d bson.M) bool { return d["ws"] == int32(1) }}
	match := D{{Key: "ws", Value: 1}}
	if rapid.Bool().Draw(t, "filtered") {
		c := ownCondition(t)
		match, tests = append(match, c.filter...), append(tests, c.holds)
	}
	stages = A{M{"$match": match}}
	if depth > 0 {
		var names A
		var parts []condition
		for i := range rapid.IntRange(1, 2).Draw(t, "relations") {
			local, to, foreign := "ref", "b", "_id"
			switch rapid.Bool().Draw(t, "backwards") {
			case true:
				local, foreign = "_id", "back"
				if from == "b" {
					to, foreign = "a", "ref"
				}
			case false:
				if from == "b" {
					local, to = "back", "a"
				}
			}
			pipeline, far := w.stages(t, to, rapid.IntRange(0, depth-1).Draw(t, "deeper"))
			as := fmt.Sprint("as", i)
			names = append(names, as)
			stages = append(stages, D{{Key: "$lookup", Value: D{
				{Key: "from", Value: to},
				{Key: "localField", Value: local},
				{Key: "foreignField", Value: foreign},
				{Key: "pipeline", Value: pipeline},
				{Key: "as", Value: as},
			}}})
			values := map[string]bool{}
			for _, o := range w.docs[to] {
				if far(o) {
					for _, v := range valuesOf(o[foreign]) {
						values[v] = true
					}
				}
			}
			found := func(d bson.M) bool {
				return slices.ContainsFunc(valuesOf(d[local]), func(v string) bool { return values[v] })
			}
			if rapid.Bool().Draw(t, "negated") {
				parts = append(parts, condition{D{{Key: as, Value: A{}}}, func(d bson.M) bool { return !found(d) }})
			} else {
				parts = append(parts, condition{D{{Key: as, Value: M{"$ne": A{}}}}, found})
			}
		}
		if rapid.Bool().Draw(t, "mixed") {
			parts = append(parts, ownCondition(t))
		}
		var filters A
		for _, p := range parts {
			filters = append(filters, p.filter)
		}
		op := rapid.SampledFrom([]string{"$and", "$and", "$or", "$nor"}).Draw(t, "operator")
		stages = append(stages, M{"$match": M{op: filters}}, M{"$unset": names})
		tests = append(tests, func(d bson.M) bool {
			held := 0
			for _, p := range parts {
				if p.holds(d) {
					held++
				}
			}
			return op == "$and" && held == len(parts) || op == "$or" && held > 0 || op == "$nor" && held == 0
		})
	}
	return stages, func(d bson.M) bool {
		return !slices.ContainsFunc(tests, func(test func(bson.M) bool) bool { return !test(d) })
	}
}

// valuesOf are the values by which a field takes part in a relation.
func valuesOf(v any) []string {
	list, ok := v.(bson.A)
	if !ok {
		list = bson.A{v}
	}
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = fmt.Sprint(v)
	}
	return texts
}

// TestSemiJoinsMeanWhatTheySay compares random selections by related documents with their naive evaluation: lists in several orders, pages,
// counts and groups, with and without indexes.
func TestSemiJoinsMeanWhatTheySay(t *testing.T) {
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	db := cl.Database("d")
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{0, 3, 40, 250})
		w := newRelatedWorld(t.Context(), t, db, rapid.Uint64().Draw(t, "seed"), size.Draw(t, "a"), size.Draw(t, "b"),
			rapid.IntRange(0, 3).Draw(t, "indexed") > 0, rapid.IntRange(0, 3).Draw(t, "lists") == 0)
		for range 8 {
			w.compare(t, db)
		}
	})
}

// TestSemiJoinsOfManyDocuments is the same for so many documents that the costs of the ways differ.
func TestSemiJoinsOfManyDocuments(t *testing.T) {
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	for i, sizes := range [][2]int{{2000, 6000}, {5000, 1500}, {200, 8000}} {
		db := cl.Database(fmt.Sprint("d", i))
		w := newRelatedWorld(context.WithoutCancel(t.Context()), t, db, uint64(i), sizes[0], sizes[1], true, false)
		rapid.Check(t, func(t *rapid.T) { w.compare(t, db) })
	}
}

// compare compares one random selection.
func (w *relatedWorld) compare(t *rapid.T, db *mongo.Database) {
	from := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "from")
	stages, holds := w.stages(t, from, rapid.IntRange(1, 2).Draw(t, "depth"))
	var want []bson.M
	for _, d := range w.docs[from] {
		if holds(d) {
			want = append(want, d)
		}
	}
	compareSelection(t, db.Collection(from), stages, want)
}

func compareSelection(t *rapid.T, c *mongo.Collection, stages A, want []bson.M) {
	field, order := rapid.SampledFrom([]string{"_id", "n", "kind"}).Draw(t, "sort"), rapid.SampledFrom([]int{1, -1}).Draw(t, "order")
	sort := D{{Key: field, Value: order}}
	if field != "_id" {
		sort = append(sort, bson.E{Key: "_id", Value: order})
	}
	key := func(d bson.M) string {
		id := fmt.Sprintf("%x", d["_id"].(bson.Binary).Data)
		switch field {
		case "n":
			return fmt.Sprintf("%03d", d["n"]) + id
		case "kind":
			return d["kind"].(string) + " " + id
		}
		return id
	}
	slices.SortFunc(want, func(a, b bson.M) int { return order * strings.Compare(key(a), key(b)) })
	ids := func(docs []bson.M) []string {
		out := make([]string, len(docs))
		for i, d := range docs {
			out[i] = key(d)
			require.NotContains(t, d, "as0")
		}
		return out
	}
	read := func(more ...any) []bson.M {
		cursor, err := c.Aggregate(t.Context(), append(slices.Clone(stages), more...), options.Aggregate().SetBatchSize(int32(max(7, len(want)/3))))
		require.NoError(t, err)
		var docs []bson.M
		require.NoError(t, cursor.All(t.Context(), &docs))
		return docs
	}
	text := fmt.Sprint(stages)
	require.Equal(t, ids(want), ids(read(M{"$sort": sort})), text)
	skip, limit := rapid.IntRange(0, 5).Draw(t, "skip"), rapid.IntRange(1, 30).Draw(t, "limit")
	page := want[min(skip, len(want)):min(skip+limit, len(want))]
	require.Equal(t, ids(page), ids(read(M{"$sort": sort}, M{"$skip": skip}, M{"$limit": limit})), text)
	count := func(more ...any) int {
		rows := read(append(more, M{"$count": "n"})...)
		if len(rows) == 0 {
			return 0
		}
		return int(rows[0]["n"].(int32))
	}
	require.Equal(t, len(want), count(), text)
	require.Equal(t, min(limit, len(want)), count(M{"$limit": limit}), text)
	kinds := map[any]bool{}
	for _, d := range want {
		kinds[d["kind"]] = true
	}
	groups := map[any]bool{}
	for _, row := range read(M{"$group": M{"_id": "$kind"}}) {
		groups[row["_id"]] = true
	}
	require.Equal(t, kinds, groups, text)
}

// A collection whose documents have few values of the reference, or none, is not read to learn which of them match.
func TestSemiJoinsLookFewReferencesUp(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	db := cl.Database("d")
	var near, far []any
	for i := range 3000 {
		d := D{{Key: "_id", Value: owner(i)}, {Key: "ws", Value: 1}}
		if i%500 == 3 {
			d = append(d, bson.E{Key: "ref", Value: owner(i % 4 * 2)})
		}
		near = append(near, d)
		far = append(far, D{{Key: "_id", Value: owner(i)}, {Key: "ws", Value: 1}, {Key: "n", Value: i}})
	}
	for name, docs := range map[string][]any{"near": near, "far": far} {
		_, err := db.Collection(name).InsertMany(ctx, docs)
		require.NoError(t, err)
	}
	for _, keys := range []D{{{Key: "ws", Value: 1}, {Key: "_id", Value: 1}}, {{Key: "ws", Value: 1}, {Key: "ref", Value: 1}, {Key: "_id", Value: 1}}} {
		_, err := db.Collection("near").Indexes().CreateOne(ctx, mongo.IndexModel{Keys: keys})
		require.NoError(t, err)
	}
	for least, want := range map[int]int{6: 6, 7: 0} {
		e := explain(t, db.Collection("near"), D{{Key: "aggregate", Value: "near"}, {Key: "cursor", Value: M{}}, {Key: "pipeline", Value: A{
			M{"$match": M{"ws": 1}},
			D{{Key: "$lookup", Value: D{
				{Key: "from", Value: "far"},
				{Key: "localField", Value: "ref"},
				{Key: "foreignField", Value: "_id"},
				{Key: "pipeline", Value: A{M{"$match": M{"ws": 1, "n": M{"$gte": least, "$ne": 5000}}}}},
				{Key: "as", Value: "as"},
			}}},
			M{"$match": M{"as": M{"$ne": A{}}}},
			M{"$unset": "as"},
			M{"$sort": M{"_id": -1}},
			M{"$limit": 20},
		}}})
		require.EqualValues(t, want, e.ExecutionStats.NReturned)
		require.EqualValues(t, want, e.ExecutionStats.TotalDocsExamined)
	}
}

// TestLookupsThatAreNoSemiJoins checks that any other form is rejected by name.
func TestLookupsThatAreNoSemiJoins(t *testing.T) {
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	c := cl.Database("d").Collection("c")
	_, err := c.InsertOne(context.WithoutCancel(t.Context()), M{"_id": 1})
	require.NoError(t, err)
	lookup := func(more ...bson.E) D {
		return D{{Key: "$lookup", Value: append(D{
			{Key: "from", Value: "o"}, {Key: "localField", Value: "_id"}, {Key: "foreignField", Value: "ref"}, {Key: "as", Value: "o"},
		}, more...)}}
	}
	found, unset := M{"$match": M{"o": M{"$ne": A{}}}}, M{"$unset": "o"}
	for name, pipeline := range map[string]A{
		"alone":                 {lookup()},
		"without unset":         {lookup(), found},
		"another field removed": {lookup(), found, M{"$unset": "x"}},
		"more fields removed":   {lookup(), found, M{"$unset": A{"o", "x"}}},
		"size":                  {lookup(), M{"$match": M{"o": M{"$size": 1}}}, unset},
		"a field of the result": {lookup(), M{"$match": M{"o.x": 1}}, unset},
		"$expr":                 {lookup(), M{"$match": M{"$expr": M{"$eq": A{"$o", A{}}}}}, unset},
		"let":                   {lookup(bson.E{Key: "let", Value: M{"x": "$_id"}}), found, unset},
		"other stages":          {lookup(bson.E{Key: "pipeline", Value: A{M{"$limit": 1}}}), found, unset},
		"behind a sort":         {M{"$sort": M{"_id": 1}}, lookup(), found, unset},
		"behind a group":        {M{"$group": M{"_id": "$x"}}, lookup(), found, unset},
		"a path":                {D{{Key: "$lookup", Value: M{"from": "o", "localField": "a.b", "foreignField": "ref", "as": "o"}}}, found, unset},
		"no stage behind":       {lookup(), M{"$match": 1, "$unset": 2}, unset},
	} {
		_, err := c.Aggregate(context.WithoutCancel(t.Context()), pipeline)
		require.ErrorContains(t, err, "lookup", name)
		requireCode(t, 238, err)
	}
	cursor, err := c.Aggregate(context.WithoutCancel(t.Context()), A{lookup(), M{"$match": M{"o": A{}}}, unset})
	require.NoError(t, err)
	var docs []bson.M
	require.NoError(t, cursor.All(context.WithoutCancel(t.Context()), &docs))
	require.Len(t, docs, 1, "a collection that does not exist has no documents")
}
