package orchestration_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// targeted reports whether a mongos sends a command to one shard, or two, when it names documents of a sharded collection.
// A command that names no document is not judged: background work asks all shards. The monitor judges every command of every
// test of the service.
func targeted(command string, collection query.Collection, doc bson.Raw) bool {
	if !slices.Contains(query.Sharded(), collection) {
		return true
	}
	switch command {
	case "insert":
		return all(doc, "documents", func(d bson.Raw) bool { return !d.Lookup(query.ShardKey).IsZero() })
	case "update":
		return all(doc, "updates", func(d bson.Raw) bool { return keyed(d.Lookup("q")) })
	case "delete":
		return all(doc, "deletes", func(d bson.Raw) bool { return keyed(d.Lookup("q")) })
	case "findAndModify":
		return keyed(doc.Lookup("query"))
	case "find":
		return aimed(doc.Lookup("filter")) || asksForTheWorkspace(doc)
	case "count", "distinct":
		return aimed(doc.Lookup("query"))
	case "aggregate":
		return aimed(doc.Lookup("pipeline", "0", "$match"))
	}
	return true
}

// aimed reports whether a filter that names documents has the shard key.
func aimed(filter bson.RawValue) bool { return !namesDocuments(filter) || keyed(filter) }

// asksForTheWorkspace reports whether a query finds out which workspace has an id that clients chose.
func asksForTheWorkspace(find bson.Raw) bool {
	projection, _ := find.Lookup("projection").DocumentOK()
	fields, err := projection.Elements()
	return err == nil && len(fields) == 2 && fields[0].Key() == "_id" && fields[1].Key() == query.ShardKey
}

// all reports whether the documents of an array have a property.
func all(doc bson.Raw, field string, property func(bson.Raw) bool) bool {
	list, ok := doc.Lookup(field).ArrayOK()
	if !ok {
		return true
	}
	values, err := list.Values()
	return err == nil && !slices.ContainsFunc(values, func(v bson.RawValue) bool { return !property(v.Document()) })
}

// namesDocuments reports whether a filter names documents by their ids.
func namesDocuments(filter bson.RawValue) bool { return fixes(filter, "_id") }

// keyed reports whether a filter has the shard key.
func keyed(filter bson.RawValue) bool { return fixes(filter, query.ShardKey) }

// fixes reports whether a filter, or a part of its conjunction, compares a field with values.
func fixes(filter bson.RawValue, field string) bool {
	doc, ok := filter.DocumentOK()
	if !ok {
		return false
	}
	if equals(doc.Lookup(field)) {
		return true
	}
	list, _ := doc.Lookup("$and").ArrayOK()
	parts, err := list.Values()
	return err == nil && slices.ContainsFunc(parts, func(part bson.RawValue) bool { return fixes(part, field) })
}

// equals reports whether a condition is a value or a list of values.
func equals(condition bson.RawValue) bool {
	if doc, ok := condition.DocumentOK(); ok {
		return !doc.Lookup("$in").IsZero()
	}
	return !condition.IsZero()
}

// The monitor sees commands without the shard key.
func TestCommandsWithoutTheShardKeyAreSeen(t *testing.T) {
	t.Parallel()
	id, ws := store.Binary(uuid.New()), store.Binary(uuid.New())
	command := func(d bson.D) bson.Raw {
		raw, err := bson.Marshal(d)
		require.NoError(t, err)
		return raw
	}
	byID, byKey := bson.D{{Key: "_id", Value: id}}, bson.D{{Key: "_id", Value: id}, {Key: "ws", Value: bson.D{{Key: "$in", Value: bson.A{ws, id}}}}}
	elsewhere := bson.D{{Key: "_id", Value: id}, {Key: "ws", Value: bson.D{{Key: "$ne", Value: ws}}}}
	list := func(name string, q bson.D) bson.D {
		return bson.D{{Key: name, Value: bson.A{bson.D{{Key: "q", Value: q}}}}}
	}
	for _, c := range []struct {
		command string
		doc     bson.D
		want    bool
	}{
		{"find", bson.D{{Key: "filter", Value: byKey}}, true},
		{"find", bson.D{{Key: "filter", Value: byID}}, false},
		{"find", bson.D{{Key: "filter", Value: elsewhere}}, false},
		{"find", bson.D{{Key: "filter", Value: bson.D{{Key: "outbox.at", Value: 1}}}}, true},
		{"find", bson.D{{Key: "filter", Value: bson.D{{Key: "$and", Value: bson.A{byID}}}}}, false},
		{"find", bson.D{{Key: "filter", Value: bson.D{{Key: "$and", Value: bson.A{byID, byKey}}}}}, true},
		{"count", bson.D{{Key: "query", Value: byID}}, false},
		{"distinct", bson.D{{Key: "query", Value: byKey}}, true},
		{"distinct", bson.D{{Key: "query", Value: byID}}, false},
		{"aggregate", bson.D{{Key: "pipeline", Value: bson.A{bson.D{{Key: "$match", Value: byKey}}}}}, true},
		{"aggregate", bson.D{{Key: "pipeline", Value: bson.A{bson.D{{Key: "$match", Value: byID}}}}}, false},
		{"aggregate", bson.D{{Key: "pipeline", Value: bson.A{}}}, true},
		{"update", list("updates", byKey), true},
		{"update", list("updates", byID), false},
		{"delete", list("deletes", byKey), true},
		{"delete", list("deletes", bson.D{{Key: "expire_at", Value: 1}}), false},
		{"findAndModify", bson.D{{Key: "query", Value: byID}}, false},
		{"insert", bson.D{{Key: "documents", Value: bson.A{byKey}}}, true},
		{"insert", bson.D{{Key: "documents", Value: bson.A{byKey, byID}}}, false},
	} {
		t.Run(c.command, func(t *testing.T) {
			require.Equal(t, c.want, targeted(c.command, query.FlowRun, command(c.doc)), "%s %v", c.command, c.doc)
			require.True(t, targeted(c.command, query.Flow, command(c.doc)), "not sharded")
		})
	}
}
