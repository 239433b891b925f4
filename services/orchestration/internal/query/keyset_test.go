package query

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// checker is a test, or one check of a property.
type checker interface {
	require.TestingT
	Context() context.Context
}

// pageAfter reads the page behind a position; nil is the first page.
func pageAfter(t checker, s *Selection, sort bson.D, after Position, limit int64) (ids []string, last Position) {
	visit := func(doc bson.Raw) error {
		_, id := doc.Lookup("_id").Binary()
		ids, last = append(ids, uuid.UUID(id).String()), PositionOf(sort, doc)
		return nil
	}
	var err error
	if after == nil {
		err = s.Visit(t.Context(), sort, 0, limit, visit)
	} else {
		err = s.VisitAfter(t.Context(), sort, after, limit, visit)
	}
	require.NoError(t, err)
	return ids, last
}

// sortValue returns a value of a sorted field: absent, null, or one of few, so that many documents have the same one.
func sortValue(t *rapid.T, field string) (value any, present bool) {
	n := rapid.IntRange(-2, 3).Draw(t, field)
	switch {
	case n == -2:
		return nil, false
	case n == -1:
		return nil, true
	case strings.HasSuffix(field, "name") || field == "key":
		return []string{"", "a", "b", "bé"}[n], true
	}
	return int64(n - 1), true
}

// insertSorted inserts a document with random values of all fields that a collection is sorted by.
func insertSorted(t *rapid.T, c *mongo.Collection, ws uuid.UUID, within bson.D, orders []ordered) string {
	id := uuid.UUID{8: 0x80}
	for i := range id {
		id[i] |= byte(rapid.IntRange(0, 255).Draw(t, "id")) & 0x3f
	}
	doc := append(append(envelope(ws, false), bson.E{Key: "_id", Value: binary(id)}), within...)
	seen := map[string]bool{"_id": true}
	for _, order := range orders {
		for _, field := range order.sort {
			if seen[field.Key] {
				continue
			}
			seen[field.Key] = true
			if slices.Contains(uniqueFields()[Collection(c.Name())], field.Key) {
				doc = append(doc, bson.E{Key: field.Key, Value: id.String()})
				continue
			}
			if v, present := sortValue(t, field.Key); present {
				doc = append(doc, bson.E{Key: field.Key, Value: v})
			}
		}
	}
	doc = append(doc, bson.E{Key: "state", Value: bson.D{{Key: "type", Value: rapid.SampledFrom([]string{"FAILED", "RUNNING"}).Draw(t, "state")}}})
	_, err := c.InsertOne(t.Context(), doc)
	require.NoError(t, err)
	return id.String()
}

// TestKeysetPagesAreTheList compares the pages of positions with one page of everything, for each sort and any page size.
func TestKeysetPagesAreTheList(t *testing.T) {
	t.Parallel()
	db := database(t)
	makeIndexes(t, db, false)
	type list struct {
		own    Collection
		within bson.D
		orders []ordered
	}
	var lists []list
	for _, l := range listed {
		if l.sort == nil {
			lists = append(lists, list{l.in, nil, []ordered{{sort: bson.D{{Key: "name", Value: 1}, {Key: "_id", Value: 1}}}}})
		} else {
			lists = append(lists, list{l.in, l.within, ordersOf(t, l.sort)})
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		list, ws := rapid.SampledFrom(lists).Draw(t, "list"), uuid.New()
		c := db.Collection(string(list.own))
		var all []string
		for range rapid.IntRange(0, 12).Draw(t, "documents") {
			all = append(all, insertSorted(t, c, ws, list.within, list.orders))
		}
		defer forget(t, c, all)
		sort := rapid.SampledFrom(list.orders).Draw(t, "sort").sort
		s := Resolver{Reader: NewReader(db)}.Matching(ws, list.own, list.within)
		whole, _ := pageAfter(t, s, sort, nil, 0)
		require.Len(t, whole, len(all))
		size := rapid.Int64Range(1, 5).Draw(t, "size")
		page, last := pageAfter(t, s, sort, nil, size)
		got := page
		for int64(len(page)) == size {
			page, last = pageAfter(t, s, sort, last, size)
			got = append(got, page...)
		}
		require.Equal(t, whole, got, "%v", sort)
	})
}

// TestKeysetPagesWhileRowsChange checks that inserts and deletes between two pages neither repeat nor skip another document.
func TestKeysetPagesWhileRowsChange(t *testing.T) {
	t.Parallel()
	db := database(t)
	makeIndexes(t, db, false)
	orders := ordersOf(t, orchv1.FlowRunSort(0))
	rapid.Check(t, func(t *rapid.T) {
		ws, c := uuid.New(), db.Collection(string(FlowRun))
		q := &orchv1.FlowRunQuery{}
		if rapid.Bool().Draw(t, "filtered") {
			require.NoError(t, restjson.Unmarshal([]byte(`{"flow_runs":{"state":{"type":{"any_":["FAILED","RUNNING"]}}}}`), q))
		}
		lasting := map[string]bool{}
		var all []string
		insert := func() string {
			id := insertSorted(t, c, ws, nil, orders)
			all = append(all, id)
			return id
		}
		defer func() { forget(t, c, all) }()
		for range rapid.IntRange(1, 12).Draw(t, "documents") {
			lasting[insert()] = true
		}
		sort := rapid.SampledFrom(orders).Draw(t, "sort").sort
		s := selectionOf(t, db, ws, q)
		size := rapid.Int64Range(1, 4).Draw(t, "size")
		page, last := pageAfter(t, s, sort, nil, size)
		seen := map[string]bool{}
		for {
			for _, id := range page {
				require.False(t, seen[id], "twice by %v", sort)
				seen[id] = true
			}
			if int64(len(page)) < size {
				break
			}
			for _, id := range all {
				if rapid.IntRange(0, 9).Draw(t, "delete") == 0 {
					_, err := c.DeleteOne(t.Context(), bson.D{{Key: "_id", Value: binary(uuid.MustParse(id))}})
					require.NoError(t, err)
					delete(lasting, id)
				}
			}
			if len(all) < 24 && rapid.Bool().Draw(t, "insert") {
				insert()
			}
			page, last = pageAfter(t, s, sort, last, size)
		}
		for id := range lasting {
			require.True(t, seen[id], "skipped by %v", sort)
		}
	})
}

func forget(t *rapid.T, c *mongo.Collection, ids []string) {
	for _, id := range ids {
		_, err := c.DeleteOne(t.Context(), bson.D{{Key: "_id", Value: binary(uuid.MustParse(id))}})
		require.NoError(t, err)
	}
}

func selectionOf(t checker, db *mongo.Database, ws uuid.UUID, q *orchv1.FlowRunQuery) *Selection {
	p, err := NewPlan(FlowRun, q)
	require.NoError(t, err)
	s, err := Resolver{Reader: NewReader(db)}.Select(t.Context(), ws, p)
	require.NoError(t, err)
	return s
}

// TestKeysetPagesReadWhatTheyShow compares the index keys that a page behind nine tenths of the flow runs reads with those of the
// first page, for each sort and several filters.
func TestKeysetPagesReadWhatTheyShow(t *testing.T) {
	t.Parallel()
	db, ws := database(t), uuid.New()
	makeIndexes(t, db, false)
	const documents, size = 3000, 50
	docs := make([]any, documents)
	for i := range docs {
		doc := append(envelope(ws, false), bson.E{Key: "_id", Value: binary(numbered(i))}, bson.E{Key: "tags", Value: bson.A{fmt.Sprint("t", i%3)}},
			bson.E{Key: "state", Value: bson.D{{Key: "type", Value: []string{"FAILED", "RUNNING"}[i/41%2]}}})
		for j, field := range []string{"sort_start", "expected_start_time", "end_time", "next_scheduled_start_time", "created", "name"} {
			switch {
			case field == "name":
				doc = append(doc, bson.E{Key: field, Value: fmt.Sprint("run ", i%40)}) // Each name many times.
			case i%(j+2) > 0 || j < 2:
				doc = append(doc, bson.E{Key: field, Value: int64(i / 7)})
			}
		}
		docs[i] = doc
	}
	_, err := db.Collection(string(FlowRun)).InsertMany(t.Context(), docs)
	require.NoError(t, err)
	for _, filter := range []string{
		`{}`,
		`{"flow_runs":{"state":{"type":{"any_":["FAILED"]}}}}`,
		`{"flow_runs":{"state":{"type":{"any_":["FAILED"]}},"tags":{"all_":["t1"]}}}`,
		`{"flow_runs":{"expected_start_time":{"after_":"1970-01-01T00:00:00Z"}}}`,
		`{"flow_runs":{"name":{"any_":["run 1","run 2","run 3","run 30"]}}}`,
	} {
		q := &orchv1.FlowRunQuery{}
		require.NoError(t, restjson.Unmarshal([]byte(filter), q))
		s := selectionOf(t, db, ws, q)
		n, err := s.Count(t.Context())
		require.NoError(t, err)
		for _, order := range ordersOf(t, orchv1.FlowRunSort(0)) {
			sort := order.sort
			var last Position
			require.NoError(t, s.Visit(t.Context(), sort, n*9/10, 1, func(doc bson.Raw) error {
				last = PositionOf(sort, doc)
				return nil
			}))
			first, _ := examined(t, db, s.filter, sort, size)
			var deep int64
			left := size
			for _, within := range last.behind(sort) {
				n, rows := examined(t, db, allOf([]bson.D{s.filter, within}), sort, left)
				deep += n
				if left -= rows; left == 0 {
					break
				}
			}
			require.LessOrEqual(t, deep, 3*first+10, "%s by %s", filter, order.word)
		}
	}
}

// examined returns the number of index keys and documents that a page reads, and of its rows.
func examined(t *testing.T, db *mongo.Database, filter, sort bson.D, limit int) (n int64, rows int) {
	t.Helper()
	var x struct {
		ExecutionStats struct {
			NReturned                            int
			TotalKeysExamined, TotalDocsExamined int64
		}
	}
	q := pageOf("page", FlowRun, filter, sort, limit)
	require.NoError(t, db.RunCommand(t.Context(), bson.D{{Key: "explain", Value: q.command}, {Key: "verbosity", Value: "executionStats"}}).Decode(&x))
	return x.ExecutionStats.TotalKeysExamined + x.ExecutionStats.TotalDocsExamined, x.ExecutionStats.NReturned
}
