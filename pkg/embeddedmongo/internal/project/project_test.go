package project

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.uber.org/goleak"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func parse(t *testing.T, json string) value.Doc {
	t.Helper()
	var d bson.D
	require.NoError(t, bson.UnmarshalExtJSON([]byte(json), false, &d), json)
	return value.DocOf(d)
}

func format(t *testing.T, d value.Doc) string {
	t.Helper()
	json, err := bson.MarshalExtJSON(bson.Raw(d), false, false)
	require.NoError(t, err)
	return string(json)
}

const doc = `{"_id":1,"a":{"b":1,"c":2},"l":[{"b":1,"c":2},{"b":3},4],"n":[1,2,3,4]}`

func TestProjections(t *testing.T) {
	t.Parallel()
	for projection, want := range map[string]string{
		`{}`:                                   doc,
		`{"_id": 0}`:                           `{"a":{"b":1,"c":2},"l":[{"b":1,"c":2},{"b":3},4],"n":[1,2,3,4]}`,
		`{"_id": 1}`:                           `{"_id":1}`,
		`{"a": 1}`:                             `{"_id":1,"a":{"b":1,"c":2}}`,
		`{"a.b": 1, "_id": 0}`:                 `{"a":{"b":1}}`,
		`{"a": {"b": 1}}`:                      `{"_id":1,"a":{"b":1}}`,
		`{"l.b": 1}`:                           `{"_id":1,"l":[{"b":1},{"b":3}]}`,
		`{"a": 0, "n": 0}`:                     `{"_id":1,"l":[{"b":1,"c":2},{"b":3},4]}`,
		`{"l.b": 0, "a": 0, "n": 0}`:           `{"_id":1,"l":[{"c":2},{},4]}`,
		`{"nothing": 1}`:                       `{"_id":1}`,
		`{"n": {"$slice": 2}, "a": 0, "l": 0}`: `{"_id":1,"n":[1,2]}`,
		`{"n": {"$slice": -1}, "a.c": 1}`:      `{"_id":1,"a":{"c":2},"n":[4]}`,
		`{"n": {"$elemMatch": {"$gt": 2}}}`:    `{"_id":1,"n":[3]}`,
		`{"l": {"$elemMatch": {"b": 9}}}`:      `{"_id":1}`,
		`{"n.$": 1}`:                           `{"_id":1,"n":[3]}`,
	} {
		p, err := Compile(parse(t, projection), Options{Find: true})
		require.NoError(t, err, projection)
		got, err := p.Apply(parse(t, doc), 2)
		require.NoError(t, err, projection)
		require.Equal(t, want, format(t, got), projection)
	}
}

func TestProjectionsThatAreRefused(t *testing.T) {
	t.Parallel()
	for projection, code := range map[string]int32{
		`{"a": 1, "b": 0}`:             31254,
		`{"a": 1, "a.b": 1}`:           31249,
		`{"a.b": 1, "a": 1}`:           31250,
		`{"a": 1, "a": 1}`:             31250,
		`{"_id": 1, "_id": 1}`:         31250,
		`{"_id": 1, "_id.x": 1}`:       31249,
		`{"a": 0, "a": 0}`:             31250,
		`{"a": {"b": 1}, "a.b": 1}`:    31250,
		`{"n": {"$slice": 1}, "n": 1}`: 31250,
		`{"a": {}}`:                    51270,
		`{"a..b": 1}`:                  16410,
		`{"$a": 1}`:                    16410,
		`{"n": {"$slice": "x"}}`:       0,
		`{"n": {"$slice": [1, 0]}}`:    28724,
		`{"n": {"$nothing": 1}}`:       238,
		`{"x": "$a.b"}`:                238,
	} {
		_, err := Compile(parse(t, projection), Options{Find: true})
		var refused *mongoerr.Error
		require.ErrorAs(t, err, &refused, projection)
		if code != 0 {
			require.Equal(t, code, refused.Code, "%s: %v", projection, err)
		}
	}
	p, err := Compile(parse(t, `{"n.$": 1}`), Options{Find: true})
	require.NoError(t, err)
	_, err = p.Apply(parse(t, doc), -1)
	require.Error(t, err, "no element matched")
}
