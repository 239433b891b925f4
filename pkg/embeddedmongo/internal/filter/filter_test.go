package filter

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.uber.org/goleak"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// doc reads extended JSON.
func doc(t testing.TB, s string) value.Doc {
	t.Helper()
	var d bson.D
	require.NoError(t, bson.UnmarshalExtJSON([]byte(s), false, &d), s)
	return value.DocOf(d)
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ filter, yes, no string }{
		{`{"a": 1}`, `{"a": 1.0}`, `{"a": "1"}`},
		{`{"a": 1}`, `{"a": [2, 1]}`, `{"a": [[1]]}`},
		{`{"a": [1, 2]}`, `{"a": [1, 2]}`, `{"a": [2, 1]}`},
		{`{"a": [1, 2]}`, `{"a": [[1, 2], 3]}`, `{"a": [1, 2, 3]}`},
		{`{"a": {"b": 1}}`, `{"a": {"b": 1}}`, `{"a": {"b": 1, "c": 2}}`},
		{`{"a.b": 1}`, `{"a": [{"b": 2}, {"b": 1}]}`, `{"a": [{"c": 1}]}`},
		{`{"a.0": 1}`, `{"a": [1, 2]}`, `{"a": [2, 1]}`},
		{`{"a.1.b": 1}`, `{"a": [5, {"b": 1}]}`, `{"a": [{"b": 1}, 5]}`},
		{`{"a": null}`, `{"b": 1}`, `{"a": 0}`},
		{`{"a": null}`, `{"a": [1, null]}`, `{"a": []}`},
		{`{"a.b": null}`, `{"a": 5}`, `{"a": [1, 2]}`},
		{`{"a.b": null}`, `{"a": [{"b": 1}, {}]}`, `{"a": []}`},
		{`{"a": {"$ne": 1}}`, `{}`, `{"a": [3, 1]}`},
		{`{"a": {"$gt": 1}}`, `{"a": 1.5}`, `{"a": "x"}`},
		{`{"a": {"$gte": null}}`, `{}`, `{"a": 1}`},
		{`{"a": {"$lt": "b"}}`, `{"a": ""}`, `{"a": 1}`},
		{`{"a": {"$gt": 1, "$lt": 3}}`, `{"a": [0, 5]}`, `{"a": [0, 1]}`},
		{`{"a": {"$lt": {"$numberDouble": "NaN"}}}`, ``, `{"a": 1}`},
		{`{"a": {"$gte": {"$minKey": 1}}}`, `{"a": 1}`, ``},
		{`{"a": {"$in": [1, null]}}`, `{}`, `{"a": 2}`},
		{`{"a": {"$in": [{"$regularExpression": {"pattern": "^x", "options": ""}}, 7]}}`, `{"a": "xy"}`, `{"a": "yx"}`},
		{`{"a": {"$nin": [1, 2]}}`, `{"a": 3}`, `{"a": [9, 2]}`},
		{`{"a": {"$exists": true}}`, `{"a": null}`, `{}`},
		{`{"a.b": {"$exists": false}}`, `{"a": [1]}`, `{"a": [{"b": 1}]}`},
		{`{"a": {"$type": "array"}}`, `{"a": []}`, `{"a": {}}`},
		{`{"a": {"$type": ["number", "null"]}}`, `{"a": ["x", 1]}`, `{}`},
		{`{"a": {"$type": 2}}`, `{"a": "x"}`, `{"a": 2}`},
		{`{"a": {"$size": 2}}`, `{"a": [1, [2]]}`, `{"a": 2}`},
		{`{"a": {"$mod": [4, 1]}}`, `{"a": 5.9}`, `{"a": 6}`},
		{`{"a": {"$mod": [4, -1]}}`, `{"a": -5}`, `{"a": 5}`},
		{`{"a": {"$all": [1, 2]}}`, `{"a": [2, 3, 1]}`, `{"a": [1]}`},
		{`{"a": {"$all": [[1, 2]]}}`, `{"a": [1, 2]}`, `{"a": [2, 1]}`},
		{`{"a": {"$all": []}}`, ``, `{"a": []}`},
		{`{"a": {"$all": [{"$elemMatch": {"x": 1}}, {"$elemMatch": {"x": 2}}]}}`, `{"a": [{"x": 2}, {"x": 1}]}`, `{"a": [{"x": 1}]}`},
		{`{"a": {"$elemMatch": {"x": 1, "y": 2}}}`, `{"a": [{"x": 1, "y": 2}]}`, `{"a": [{"x": 1}, {"y": 2}]}`},
		{`{"a": {"$elemMatch": {"$gt": 1, "$lt": 3}}}`, `{"a": [0, 2, 5]}`, `{"a": [0, 5]}`},
		{`{"a": {"$elemMatch": {"$or": [{"x": 1}, {"x": 2}]}}}`, `{"a": [{"x": 2}]}`, `{"a": {"x": 2}}`},
		{`{"a": {"$not": {"$gt": 1}}}`, `{"a": "x"}`, `{"a": [0, 2]}`},
		{`{"a": {"$not": {"$regularExpression": {"pattern": "b", "options": ""}}}}`, `{"a": 1}`, `{"a": "abc"}`},
		{`{"a": {"$regex": "B$", "$options": "i"}}`, `{"a": ["x", "ab"]}`, `{"a": "ba"}`},
		{`{"a": {"$regex": "^b", "$options": "m"}}`, `{"a": "a\nb"}`, `{"a": "ab"}`},
		{`{"a": {"$regex": "a.b", "$options": "s"}}`, `{"a": "a\nb"}`, `{"a": "ab"}`},
		{`{"$or": [{"a": 1}, {"b": 2}]}`, `{"b": 2}`, `{"b": 1}`},
		{`{"$and": [{"a": 1}, {"a": 2}]}`, `{"a": [1, 2]}`, `{"a": 1}`},
		{`{"$nor": [{"a": 1}, {"b": 2}]}`, `{"b": 1}`, `{"a": 1}`},
		{`{"$comment": "x", "a": {"$eq": 1, "$comment": "y"}}`, `{"a": 1}`, `{"a": 2}`},
		{`{"a": {"$ref": "x", "$id": 1}}`, `{"a": {"$ref": "x", "$id": 1}}`, `{}`},
	} {
		t.Run(tc.filter, func(t *testing.T) {
			f, err := Compile(doc(t, tc.filter))
			require.NoError(t, err, tc.filter)
			if tc.yes != "" {
				require.True(t, f.Match(doc(t, tc.yes)), "%s must match %s", tc.filter, tc.yes)
			}
			if tc.no != "" {
				require.False(t, f.Match(doc(t, tc.no)), "%s must not match %s", tc.filter, tc.no)
			}
		})
	}
}

func TestPosition(t *testing.T) {
	t.Parallel()
	for filter, want := range map[string]int{
		`{"a": 3}`: 2, `{"b.x": 2}`: 1, `{"b": {"$elemMatch": {"x": 2}}}`: 1, `{"a": {"$gt": 1}, "b.x": 1}`: 0, `{"c": 1}`: -1,
	} {
		f, err := Compile(doc(t, filter))
		require.NoError(t, err)
		ok, pos := f.MatchPosition(doc(t, `{"a": [1, 2, 3], "b": [{"x": 1}, {"x": 2}], "c": 1}`))
		require.True(t, ok)
		require.Equal(t, want, pos, filter)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for filter, names := range map[string]string{
		`{"$where": "1"}`: "$where", `{"$text": {"$search": "x"}}`: "$text", `{"$jsonSchema": {}}`: "$jsonSchema",
		`{"a": {"$near": [1, 2]}}`: "$near", `{"a": {"$bitsAllSet": 1}}`: "$bitsAllSet", `{"a": {"$gt": 1, "$frob": 2}}`: "$frob",
		`{"a": {"$regex": "(?=x)"}}`: "(?=x)", `{"a": {"$regex": "x", "$options": "x"}}`: "option", `{"$expr": {"$eq": [1, 1]}}`: "$expr",
	} {
		_, err := Compile(doc(t, filter))
		require.True(t, mongoerr.Is(err, mongoerr.NotImplementedKind), "%s: %v", filter, err)
		require.ErrorContains(t, err, names)
	}
	for _, filter := range []string{
		`{"$and": []}`, `{"$or": {}}`, `{"a": {"$in": 1}}`, `{"a": {"$size": -1}}`, `{"a": {"$mod": [0, 1]}}`, `{"a": {"$all": 1}}`,
		`{"a": {"$elemMatch": 1}}`, `{"a": {"$not": 1}}`, `{"a": {"$type": "frob"}}`, `{"a": {"$options": "i"}}`, `{"a": {"$regex": 1}}`,
	} {
		_, err := Compile(doc(t, filter))
		require.Error(t, err, filter)
		require.False(t, mongoerr.Is(err, mongoerr.NotImplementedKind), "%s: %v", filter, err)
	}
}

// FuzzMatch compiles any document as a filter and matches it against any other: no panic, and $nor is the opposite.
func FuzzMatch(f *testing.F) {
	for _, s := range []string{`{"a": 1}`, `{"a": {"$in": [1, null]}}`, `{"a": {"$elemMatch": {"b": {"$gt": 1}}}}`} {
		f.Add([]byte(doc(f, s)), []byte(doc(f, `{"a": [{"b": 2}, 1, null]}`)))
	}
	f.Fuzz(func(t *testing.T, q, d []byte) {
		if value.Validate(q) != nil || value.Validate(d) != nil {
			return
		}
		c, err := Compile(q)
		if err != nil {
			return
		}
		if c.Empty() {
			return
		}
		n, err := Compile(value.NewBuilder().Add("$nor", value.OfArray([]value.Value{value.OfDoc(q)})).Done())
		if err != nil {
			return // Nested too deep with one more level.
		}
		require.NotEqual(t, c.Match(d), n.Match(d))
	})
}
