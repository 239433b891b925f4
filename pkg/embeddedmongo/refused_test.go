package embeddedmongo_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// TestWhatMongoDBRefuses runs commands that a MongoDB server refuses, and compares the codes.
func TestWhatMongoDBRefuses(t *testing.T) {
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	db := cl.Database("d")
	run(t, db, `{"insert": "c", "documents": [
		{"_id": 1, "a": [1, 2], "b": [3], "s": 5, "u": 1, "n": {"x": [1], "y": [2]}}, {"_id": 2, "u": 2}]}`)
	for _, c := range []struct {
		command string
		code    int32
	}{
		{partial(`{"a": {"$ne": 1}}`), 67},
		{partial(`{"a": {"$nin": [1]}}`), 67},
		{partial(`{"a": {"$exists": false}}`), 67},
		{partial(`{"a": {"$not": {"$gt": 1}}}`), 67},
		{partial(`{"$nor": [{"a": 1}]}`), 67},
		{partial(`{"$and": [{"b": 1}, {"$or": [{"a": 1}, {"a": {"$ne": 2}}]}]}`), 67},
		{partial(`{"a": {"$regex": "x"}}`), 67},
		{partial(`{"a": {"$in": [{"$regularExpression": {"pattern": "x", "options": ""}}]}}`), 67},
		{partial(`{"a": {"$elemMatch": {"x": 1}}}`), 67},
		{partial(`{"a": {"$size": 1}}`), 67},
		{partial(`{"a": {"$mod": [2, 1]}}`), 67},

		{`{"find": "c", "sort": {"a": 1, "b": 1}}`, 2},
		{`{"find": "c", "sort": {"b": -1, "_id": 1, "a": 1}, "limit": 1}`, 2},
		{`{"find": "c", "sort": {"a.0": 1, "b": 1}}`, 2},
		{`{"find": "c", "sort": {"n.x": 1, "n.y": 1}}`, 2},
		{`{"aggregate": "c", "cursor": {}, "pipeline": [{"$sort": {"a": 1, "b": 1}}]}`, 2},
		{`{"aggregate": "c", "cursor": {}, "pipeline": [{"$limit": 5}, {"$sort": {"a": 1, "b": 1}}]}`, 2},
		{`{"findAndModify": "c", "query": {}, "sort": {"a": 1, "b": 1}, "update": {"$set": {"x": 1}}}`, 2},
		{`{"createIndexes": "c", "indexes": [{"name": "p", "key": {"a": 1, "b": 1}}]}`, 171},

		{`{"find": "c", "projection": {"_id": 1, "_id": 1}}`, 31250},
		{`{"find": "c", "projection": {"a": 1, "a": 1}}`, 31250},
		{`{"find": "c", "projection": {"a.b": 1, "a": 1}}`, 31250},
		{`{"find": "c", "projection": {"a": 1, "a.b": 1}}`, 31249},
		{`{"find": "c", "projection": {"_id": 0, "_id.x": 0}}`, 31249},
		{`{"findAndModify": "c", "query": {}, "fields": {"a": 1, "a": 1}, "remove": true}`, 31250},

		{`{"createIndexes": "c", "indexes": [{"name": "i", "key": {"_id": 1}, "sparse": true}]}`, 197},

		{`{"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$pull": {"s.x": 1}}}]}`, 28},
		{`{"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$pullAll": {"a.x": [1]}}}]}`, 28},
		{`{"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$pop": {"s.x.y": 1}}}]}`, 28},
		{`{"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$rename": {"s.x": "z"}}}]}`, 28},
		{`{"update": "c", "updates": [{"q": {"_id": 9, "g": 1, "g.x": 1}, "u": {"$set": {"z": 1}}, "upsert": true}]}`, 54},
		{`{"update": "c", "updates": [{"q": {"_id": 9, "g.x": 1, "g": {}}, "u": {"$set": {"z": 1}}, "upsert": true}]}`, 54},
	} {
		t.Run(c.command, func(t *testing.T) {
			require.Equal(t, c.code, refusal(t, db, c.command), c.command)
		})
	}
}

// TestPartialIndexesOfLaterVersions are what MongoDB accepts since 6.0.
func TestPartialIndexesOfLaterVersions(t *testing.T) {
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	for i, condition := range []string{
		`{"a": 1}`, `{"a": null}`, `{"a": {"$gte": 1, "$lt": 5}}`, `{"a": {"$exists": true}}`, `{"a": {"$type": "string"}}`,
		`{"a": {"$in": [1, 2]}}`, `{"$or": [{"a": 1}, {"b": {"$gt": 2}}]}`, `{"$and": [{"a": 1}, {"$and": [{"b": 1}]}]}`,
	} {
		require.Zero(t, refusal(t, cl.Database(fmt.Sprint("d", i)), partial(condition)), condition)
	}
}

func TestEmptySetIsAccepted(t *testing.T) {
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	db := cl.Database("d")
	run(t, db, `{"insert": "c", "documents": [{"_id": 1}]}`)
	require.Zero(t, refusal(t, db, `{"update": "c", "updates": [{"q": {}, "u": {"$set": {}}}]}`), "MongoDB accepts it since 5.0")
}

func TestCollectionHasAtMost64Indexes(t *testing.T) {
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	db := cl.Database("d")
	create := func(i int) string {
		return fmt.Sprintf(`{"createIndexes": "c", "indexes": [{"name": "i%d", "key": {"f%d": 1}}]}`, i, i)
	}
	for i := range 63 {
		run(t, db, create(i))
	}
	require.EqualValues(t, 67, refusal(t, db, create(63)))
	run(t, db, create(5)) // It exists.
}

func TestFailedMultiUpdateCountsNothing(t *testing.T) {
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	db := cl.Database("d")
	run(t, db, `{"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3, "n": "text"}]}`)
	raw, err := send(t, db, `{"update": "c", "updates": [{"q": {}, "u": {"$inc": {"n": 1}}, "multi": true}]}`)
	require.Error(t, err)
	require.EqualValues(t, 0, raw.Lookup("n").AsInt64())
	require.EqualValues(t, 0, raw.Lookup("nModified").AsInt64())
	n, err := db.Collection("c").CountDocuments(t.Context(), bson.M{"n": 1})
	require.NoError(t, err)
	require.EqualValues(t, 2, n, "what was changed stays changed")
}

func TestDuplicateKeyOfArrayIsTheElement(t *testing.T) {
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	db := cl.Database("d")
	run(t, db, `{"createIndexes": "c", "indexes": [{"name": "i", "key": {"tags": 1, "n.x": -1}, "unique": true}]}`)
	run(t, db, `{"insert": "c", "documents": [{"_id": 1, "tags": ["p", "q"]}, {"_id": 2, "tags": [], "n": {"x": {"y": 1}}}]}`)
	for d, want := range map[string]string{
		`{"_id": 3, "tags": ["z", "q", "a"]}`:          `{"tags": "q","n.x": null}`,
		`{"_id": 4, "tags": [], "n": {"x": {"y": 1}}}`: `{"tags": null,"n.x": {"y": {"$numberInt":"1"}}}`,
	} {
		raw, err := send(t, db, `{"insert": "c", "documents": [`+d+`]}`)
		require.True(t, mongo.IsDuplicateKeyError(err), "%v", err)
		require.Equal(t, want, raw.Lookup("writeErrors", "0", "keyValue").String())
	}
}

func TestLimitsOfDocuments(t *testing.T) {
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{NoSync: true})
	db := cl.Database("d")
	nested := func(levels int) string { return strings.Repeat(`{"a": `, levels) + "1" + strings.Repeat("}", levels) }
	run(t, db, `{"insert": "c", "documents": [{"_id": 1, "d": `+nested(100)+`}]}`)
	require.EqualValues(t, 15, refusal(t, db, `{"insert": "c", "documents": [{"_id": 2, "d": `+nested(101)+`}]}`))
	require.EqualValues(t, 15, refusal(t, db, `{"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"e.f": `+nested(100)+`}}}]}`))

	ctx := t.Context()
	c := db.Collection("c")
	large := bytes.Repeat([]byte("x"), 15<<20)
	_, err := c.InsertOne(ctx, bson.D{{Key: "_id", Value: 3}, {Key: "a", Value: large}})
	require.NoError(t, err)
	for size, code := range map[int]int32{1 << 20: 17419, 2 << 20: 10334} {
		_, err = c.UpdateByID(ctx, 3, bson.M{"$set": bson.M{"b": large[:size]}})
		requireCode(t, code, err)
	}
	require.NoError(t, db.Client().Ping(ctx, nil))

	for i := range 2 {
		_, err = c.InsertOne(ctx, bson.D{{Key: "_id", Value: fmt.Sprint("v", i)}, {Key: "v", Value: large[:9<<20+i]}})
		require.NoError(t, err)
	}
	requireCode(t, 17217, c.Distinct(ctx, "v", bson.D{}).Err())
	_, err = c.Aggregate(ctx, bson.A{bson.M{"$group": bson.M{"_id": bson.M{"once": "$v", "again": "$v"}}}})
	requireCode(t, 10334, err)
}

func partial(condition string) string {
	return `{"createIndexes": "c", "indexes": [{"name": "p", "key": {"k": 1}, "partialFilterExpression": ` + condition + `}]}`
}

func send(t *testing.T, db *mongo.Database, text string) (bson.Raw, error) {
	t.Helper()
	var d bson.D
	require.NoError(t, bson.UnmarshalExtJSON([]byte(text), false, &d), text)
	return db.RunCommand(context.WithoutCancel(t.Context()), d).Raw()
}

func run(t *testing.T, db *mongo.Database, text string) {
	t.Helper()
	_, err := send(t, db, text)
	require.NoError(t, err, text)
}

// refusal is the code of a command's error, or of its first write error; 0 without one.
func refusal(t *testing.T, db *mongo.Database, text string) int32 {
	t.Helper()
	raw, _ := send(t, db, text)
	require.NotEmpty(t, raw, text)
	if v, err := raw.LookupErr("code"); err == nil {
		return v.Int32()
	}
	if v, err := raw.LookupErr("writeErrors", "0", "code"); err == nil {
		return v.Int32()
	}
	return 0
}

func requireCode(t *testing.T, code int32, err error) {
	t.Helper()
	var refused mongo.ServerError
	require.ErrorAs(t, err, &refused)
	require.True(t, refused.HasErrorCode(int(code)), "%v", err)
}
