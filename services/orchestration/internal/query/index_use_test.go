package query

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
)

// indexesPage is the list of indexes with the queries that use them.
const indexesPage = "../../../../docs/indexes.md"

// TestEveryIndexIsUsed explains every query of the contract and of the services. It fails for an index that no query uses, for a query that
// scans a collection, and for a sort that no index provides: on the embedded store, and on the MongoDB server that mongotest.Variable names.
// Both must know an index in common for each query. With -update it writes docs/indexes.md.
//
// To add an index, add its query to serviceQueries, unless a filter or sort of the contract uses it already.
func TestEveryIndexIsUsed(t *testing.T) {
	t.Parallel()
	ws := uuid.New()
	queries := everyQuery(t, ws)
	embedded := mongotest.Embedded(t, embeddedmongo.Options{NoSync: true}).Connect()
	createIndexes(t, embedded, Indexes(), true)
	populate(t, embedded, ws)
	users, used := explainAll(t, embedded, queries)
	if os.Getenv(mongotest.Variable) != "" {
		server := database(t)
		createIndexes(t, server, Indexes(), true)
		populate(t, server, ws)
		_, considered := explainAll(t, server, queries)
		for i, q := range queries {
			allowed := slices.Concat(used[i], []string{"_id_"}) // Ids are unique in all workspaces.
			if !slices.ContainsFunc(considered[i], func(name string) bool { return slices.Contains(allowed, name) }) {
				t.Errorf("%s of %s uses %v on the embedded store, and %v on the server: %s", q.label, q.in, used[i], considered[i], canonical(t, q.command))
			}
		}
	}
	page := indexPage(users)
	if *update {
		require.NoError(t, os.WriteFile(filepath.FromSlash(indexesPage), []byte(page), 0o600))
	}
	have, err := os.ReadFile(filepath.FromSlash(indexesPage))
	require.NoError(t, err)
	require.Equal(t, string(have), page, "docs/indexes.md is not current: make gen")
}

// explainAll returns the queries that use an index, by collection and index, and the indexes of each query.
func explainAll(t *testing.T, db *mongo.Database, queries []labelledQuery) (users map[string][]labelledQuery, used [][]string) {
	t.Helper()
	users = map[string][]labelledQuery{}
	for _, q := range queries {
		x := explain(t, db, q)
		if slices.Contains(x.stages, "COLLSCAN") {
			t.Errorf("%s scans %s: %s", q.label, q.in, canonical(t, q.command))
		}
		if meant := indexesMeant(q); len(meant) > 0 && !slices.ContainsFunc(x.indexes, func(name string) bool { return slices.Contains(meant, name) }) {
			t.Errorf("%s of %s uses %v, and none of %v: %s", q.label, q.in, x.indexes, meant, canonical(t, q.command))
		}
		if q.keysOnly && slices.Contains(x.stages, "FETCH") {
			t.Errorf("%s of %s reads documents: %s", q.label, q.in, canonical(t, q.command))
		}
		if q.sort != "" && slices.Contains(x.stages, "SORT") {
			t.Errorf("no index of %s gives the order of %s: %s", q.in, q.label, canonical(t, q.command))
		}
		used = append(used, x.indexes)
		for _, name := range x.indexes {
			key := string(q.in) + " " + name
			users[key] = append(users[key], q)
		}
	}
	for _, ix := range Indexes() {
		if !ix.Unique && !ix.TTL && len(users[indexKey(ix)]) == 0 {
			t.Errorf("no query uses the index %v of %s (%s): drop it, or add its query to serviceQueries", names(ix.Keys), ix.Collection, ix.For)
		}
	}
	return users, used
}

// labelledQuery is a query with its purpose.
type labelledQuery struct {
	label   string
	sort    string // The value of the sort, if the query tests an order.
	in      Collection
	command bson.D
	// keysOnly says that the query must not read documents.
	keysOnly bool
}

func find(label string, in Collection, filter, sort bson.D, limit int) labelledQuery {
	command := bson.D{{Key: "find", Value: string(in)}, {Key: "filter", Value: filter}}
	if len(sort) > 0 {
		command = append(command, bson.E{Key: "sort", Value: ordering(in, filter, sort)})
	}
	if limit > 0 {
		command = append(command, bson.E{Key: "limit", Value: limit})
	}
	return labelledQuery{label: label, in: in, command: command}
}

// pageOf is a page of a list, with the hint of its access path where many documents match each criterion.
func pageOf(label string, in Collection, filter, sort bson.D, limit int) labelledQuery {
	return withHint(find(label, in, filter, sort, limit), accessOf(in, filter, sort).ordered)
}

// withHint is a query that names its index, if any.
func withHint(q labelledQuery, index bson.D) labelledQuery {
	if len(index) > 0 {
		q.command = append(q.command, bson.E{Key: "hint", Value: index})
	}
	return q
}

func count(label string, in Collection, filter bson.D) labelledQuery {
	return labelledQuery{label: label, in: in, command: bson.D{{Key: "count", Value: string(in)}, {Key: "query", Value: filter}}}
}

// groups lists the values of a field, as related filters do.
func groups(label string, in Collection, field string, filter bson.D) labelledQuery {
	if field == "_id" {
		q := find(label, in, filter, nil, defaultMaxIDs+1)
		q.command = append(q.command, bson.E{Key: "projection", Value: bson.D{{Key: "_id", Value: 1}}})
		return q
	}
	stages := append([]bson.D{{{Key: "$match", Value: filter}}}, groupsOf(field, defaultMaxIDs+1)...)
	return labelledQuery{label: label, in: in, command: bson.D{
		{Key: "aggregate", Value: string(in)}, {Key: "pipeline", Value: stages}, {Key: "cursor", Value: bson.D{}},
	}}
}

// explanation is the planner's description of a query.
type explanation struct{ stages, indexes []string }

// explain returns the plan. Rejected plans of a server count as uses: which plan wins depends on its data.
func explain(t *testing.T, db *mongo.Database, q labelledQuery) explanation {
	t.Helper()
	raw, err := db.RunCommand(t.Context(), bson.D{{Key: "explain", Value: q.command}, {Key: "verbosity", Value: "queryPlanner"}}).Raw()
	require.NoError(t, err, "%s: %s", q.label, canonical(t, q.command))
	var x explanation
	x.collect(bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: raw}, false)
	slices.Sort(x.indexes)
	x.indexes = slices.Compact(x.indexes)
	return x
}

// collect gathers the stages of winning plans and the indexes of all plans.
func (x *explanation) collect(v bson.RawValue, winning bool) {
	var elements []bson.RawElement
	switch v.Type {
	case bson.TypeEmbeddedDocument:
		elements, _ = v.Document().Elements()
	case bson.TypeArray:
		elements, _ = bson.Raw(v.Value).Elements()
	}
	for _, e := range elements {
		switch e.Key() {
		case "stage":
			if winning {
				x.stages = append(x.stages, e.Value().StringValue())
			}
		case "indexName":
			x.indexes = append(x.indexes, e.Value().StringValue())
		case "winningPlan":
			x.collect(e.Value(), true)
		case "rejectedPlans":
			x.collect(e.Value(), false)
		default:
			x.collect(e.Value(), winning)
		}
	}
}

// indexesMeant are the indexes of which a counted filter must use one: those on the field that it fixes, and for ids that of all
// workspaces too. Counts tell, as no order speaks for another index.
func indexesMeant(q labelledQuery) []string {
	filter, ok := q.command[len(q.command)-1].Value.(bson.D)
	if !ok || q.command[0].Key != "count" {
		return nil
	}
	var meant []string
	for _, e := range filter {
		condition, ok := e.Value.(bson.D)
		if !ok || (condition[0].Key != "$in" && condition[0].Key != "$eq") {
			continue
		}
		for _, ix := range Indexes() {
			if ix.Collection == q.in && ix.Partial == nil && len(ix.Keys) > 1 && ix.Keys[1].Key == e.Key {
				if e.Key == "_id" {
					meant = append(meant, "_id_")
				}
				for _, other := range Indexes() {
					if other.Collection == q.in && slices.Contains(names(other.Keys), e.Key) {
						meant = append(meant, indexName(other))
					}
				}
			}
		}
	}
	return meant
}

func indexKey(ix Index) string { return string(ix.Collection) + " " + indexName(ix) }

// indexName is the name that the driver gives an index.
func indexName(ix Index) string {
	parts := make([]string, 0, 2*len(ix.Keys))
	for _, k := range ix.Keys {
		parts = append(parts, k.Key, fmt.Sprint(k.Value))
	}
	return strings.Join(parts, "_")
}

func names(keys bson.D) []string {
	list := make([]string, len(keys))
	for i, k := range keys {
		list[i] = k.Key
	}
	return list
}

// populate inserts documents with all indexed fields, and with values that differ between documents.
func populate(t *testing.T, db *mongo.Database, ws uuid.UUID) {
	t.Helper()
	const documents = 64
	fields := map[Collection]map[string]bool{}
	for _, ix := range Indexes() {
		if fields[ix.Collection] == nil {
			fields[ix.Collection] = map[string]bool{}
		}
		for _, k := range ix.Keys {
			fields[ix.Collection][k.Key] = true
		}
	}
	for c, paths := range fields {
		docs := make([]any, documents)
		for i := range docs {
			doc := bson.M{"_id": binary(numbered(i)), "ws": binary(ws)}
			for _, path := range slices.Sorted(maps.Keys(paths)) {
				setPath(doc, strings.Split(path, "."), fieldValue(path, i))
			}
			docs[i] = doc
		}
		_, err := db.Collection(string(c)).InsertMany(context.WithoutCancel(t.Context()), docs)
		require.NoError(t, err, c)
	}
}

// setPath sets a value at a path. Lists of documents have one element.
func setPath(doc bson.M, path []string, value any) {
	switch {
	case len(path) == 1 && (path[0] == "_id" || path[0] == workspaceKey):
	case len(path) == 1:
		doc[path[0]] = value
	case slices.Contains([]string{"outbox", "holders", "memberships"}, path[0]):
		inner := bson.M{}
		if list, ok := doc[path[0]].(bson.A); ok {
			inner = list[0].(bson.M)
		}
		setPath(inner, path[1:], value)
		doc[path[0]] = bson.A{inner}
	default:
		inner, ok := doc[path[0]].(bson.M)
		if !ok {
			inner = bson.M{}
		}
		setPath(inner, path[1:], value)
		doc[path[0]] = inner
	}
}

func fieldValue(path string, i int) any {
	last := path[strings.LastIndexByte(path, '.')+1:]
	switch {
	case last == "type":
		return []string{"SCHEDULED", "RUNNING", "PAUSED", "CANCELLED"}[i%4]
	case strings.HasSuffix(last, "_id") && last != "latest_id" || last == "id":
		return binary(numbered(i))
	case last == "tags", last == "resource_ids", last == "related_resources":
		return bson.A{fmt.Sprint(last, i%8), "every"}
	case last == "expire_at":
		return bson.DateTime(1 << 42) // Far away.
	case last == "revision" || strings.HasSuffix(last, "_revision") || strings.HasSuffix(last, "_at") || strings.HasSuffix(last, "_time"),
		slices.Contains([]string{"at", "created", "updated", "sort_start", "timestamp", "occurred", "received", "expires", "schedule_due"}, last):
		return int64(i)
	}
	return fmt.Sprint(last, i)
}
