package update

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.uber.org/goleak"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func val(t testing.TB, s string) value.Value {
	t.Helper()
	var x bson.D
	require.NoError(t, bson.UnmarshalExtJSON([]byte(`{"v": `+s+`}`), false, &x), s)
	return value.DocOf(x).Get("v")
}

func TestApply(t *testing.T) {
	t.Parallel()
	const now = 1700000000123
	for _, tc := range []struct{ before, update, after string }{
		{`{"a": 1}`, `{"$set": {"a": 2, "b.c": 3}}`, `{"a": 2, "b": {"c": 3}}`},
		{`{"a": [1, 2]}`, `{"$set": {"a.3": 4}}`, `{"a": [1, 2, null, 4]}`},
		{`{}`, `{"$set": {"b": 1}, "$inc": {"a": 1}}`, `{"a": 1, "b": 1}`},
		{`{}`, `{"$set": {"x.10": 1, "x.9": 2}}`, `{"x": {"9": 2, "10": 1}}`},
		{`{"a": {"b": 1, "c": 2}}`, `{"$unset": {"a.b": "", "z": ""}}`, `{"a": {"c": 2}}`},
		{`{"a": [1, 2, 3]}`, `{"$unset": {"a.1": ""}}`, `{"a": [1, null, 3]}`},
		{`{"a": 2147483647}`, `{"$inc": {"a": 1}}`, `{"a": {"$numberLong": "2147483648"}}`},
		{`{"a": 1}`, `{"$inc": {"a": 0.5}}`, `{"a": 1.5}`},
		{`{}`, `{"$mul": {"a": 5}}`, `{"a": 0}`},
		{`{"a": 3}`, `{"$mul": {"a": 2}}`, `{"a": 6}`},
		{`{"a": 3}`, `{"$min": {"a": 2, "b": 1}, "$max": {"c": 4}}`, `{"a": 2, "b": 1, "c": 4}`},
		{`{"a": null}`, `{"$min": {"a": 2}}`, `{"a": null}`},
		{`{"a": "x"}`, `{"$max": {"a": 2}}`, `{"a": "x"}`},
		{`{"a": 1, "b": 2}`, `{"$rename": {"a": "b"}}`, `{"b": 1}`},
		{`{"a": {"x": 1}}`, `{"$rename": {"a.x": "c.y"}}`, `{"a": {}, "c": {"y": 1}}`},
		{`{"b": 2}`, `{"$rename": {"a": "b"}}`, `{"b": 2}`},
		{`{}`, `{"$currentDate": {"a": true, "b": {"$type": "date"}}}`, `{"a": {"$date": {"$numberLong": "1700000000123"}}, "b": {"$date": {"$numberLong": "1700000000123"}}}`},
		{`{"a": 1}`, `{"$setOnInsert": {"b": 1}}`, `{"a": 1}`},
		{`{}`, `{"$push": {"a": 1}}`, `{"a": [1]}`},
		{`{"a": [1]}`, `{"$push": {"a": [2]}}`, `{"a": [1, [2]]}`},
		{`{"a": [3, 1]}`, `{"$push": {"a": {"$each": [2], "$sort": 1, "$slice": -2}}}`, `{"a": [2, 3]}`},
		{`{"a": [1, 2]}`, `{"$push": {"a": {"$each": [8, 9], "$position": 1}}}`, `{"a": [1, 8, 9, 2]}`},
		{`{"a": [1, 2]}`, `{"$push": {"a": {"$each": [9], "$position": -1}}}`, `{"a": [1, 9, 2]}`},
		{`{"a": [{"k": 2}, {"k": 1, "v": 5}]}`, `{"$push": {"a": {"$each": [{"k": 1, "v": 3}], "$sort": {"k": 1, "v": -1}}}}`, `{"a": [{"k": 1, "v": 5}, {"k": 1, "v": 3}, {"k": 2}]}`},
		{`{"a": [1, 2]}`, `{"$push": {"a": {"$each": [], "$slice": 0}}}`, `{"a": []}`},
		{`{"a": [1]}`, `{"$addToSet": {"a": {"$each": [1.0, 2, 2]}}}`, `{"a": [1, 2]}`},
		{`{"a": [{"x": 1}]}`, `{"$addToSet": {"a": {"x": 1}}}`, `{"a": [{"x": 1}]}`},
		{`{"a": [1, 2, 1]}`, `{"$pull": {"a": 1}}`, `{"a": [2]}`},
		{`{"a": [1, 5, 9]}`, `{"$pull": {"a": {"$gte": 5}}}`, `{"a": [1]}`},
		{`{"a": [{"k": 1, "v": 2}, {"k": 3}]}`, `{"$pull": {"a": {"k": {"$in": [1]}}}}`, `{"a": [{"k": 3}]}`},
		{`{"a": [{"b": [{"c": 1}, {"c": 2}]}]}`, `{"$pull": {"a.0.b": {"c": 1}}}`, `{"a": [{"b": [{"c": 2}]}]}`},
		{`{"a": ["x", "xy", "z"]}`, `{"$pull": {"a": {"$regularExpression": {"pattern": "^x", "options": ""}}}}`, `{"a": ["z"]}`},
		{`{"a": [1, 2, 3, 1]}`, `{"$pullAll": {"a": [1, 3]}}`, `{"a": [2]}`},
		{`{"a": [1, 2, 3]}`, `{"$pop": {"a": 1}}`, `{"a": [1, 2]}`},
		{`{"a": [1, 2, 3]}`, `{"$pop": {"a": -1}}`, `{"a": [2, 3]}`},
		{`{"a": []}`, `{"$pop": {"a": -1, "b": 1}}`, `{"a": []}`},
		{`{"a": [{"b": 1}, {"b": 2}]}`, `{"$set": {"a.$[].b": 9}}`, `{"a": [{"b": 9}, {"b": 9}]}`},
		{`{"a": [[1], [2]]}`, `{"$inc": {"a.$[].$[]": 1}}`, `{"a": [[2], [3]]}`},
		{`{"_id": 1, "a": 1}`, `{"b": 2}`, `{"_id": 1, "b": 2}`},
		{`{"_id": 1}`, `{"$set": {"_id": 1.0}}`, `{"_id": 1.0}`},
	} {
		t.Run(tc.before, func(t *testing.T) {
			u, err := Compile(val(t, tc.update), nil)
			require.NoError(t, err, tc.update)
			d, err := u.Apply(val(t, tc.before).Doc(), Context{Now: now, Pos: -1})
			require.NoError(t, err, tc.update)
			require.Equal(t, bson.Raw(val(t, tc.after).B).String(), bson.Raw(d).String(), tc.update)
		})
	}
}

func TestPositionsAndArrayFilters(t *testing.T) {
	t.Parallel()
	u, err := Compile(val(t, `{"$set": {"a.$.x": 9}}`), nil)
	require.NoError(t, err)
	require.True(t, u.Positional())
	d, err := u.Apply(val(t, `{"a": [{}, {}]}`).Doc(), Context{Pos: 1})
	require.NoError(t, err)
	require.JSONEq(t, `{"a": [{}, {"x": {"$numberInt": "9"}}]}`, bson.Raw(d).String())
	_, err = u.Apply(val(t, `{"a": [{}, {}]}`).Doc(), Context{Pos: -1})
	require.Error(t, err)

	u, err = Compile(val(t, `{"$inc": {"a.$[e].b.$[f]": 10}}`), []value.Doc{val(t, `{"e.k": {"$gt": 1}}`).Doc(), val(t, `{"$or": [{"f": 1}, {"f": 3}]}`).Doc()})
	require.NoError(t, err)
	d, err = u.Apply(val(t, `{"a": [{"k": 1, "b": [1]}, {"k": 2, "b": [1, 2, 3]}]}`).Doc(), Context{Pos: -1})
	require.NoError(t, err)
	require.Equal(t, bson.Raw(val(t, `{"a": [{"k": 1, "b": [1]}, {"k": 2, "b": [11, 2, 13]}]}`).B).String(), bson.Raw(d).String())
}

func TestApplyErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		before, update string
		kind           mongoerr.Kind
	}{
		{`{"a": 1}`, `{"$set": {"a.b": 1}}`, mongoerr.PathNotViable},
		{`{"a": [1]}`, `{"$set": {"a.x": 1}}`, mongoerr.PathNotViable},
		{`{"a": "x"}`, `{"$inc": {"a": 1}}`, mongoerr.TypeMismatch},
		{`{"a": {"$numberLong": "9223372036854775807"}}`, `{"$inc": {"a": 1}}`, mongoerr.BadValue},
		{`{"a": 1}`, `{"$push": {"a": 1}}`, mongoerr.BadValue},
		{`{"a": 1}`, `{"$addToSet": {"a": 1}}`, mongoerr.BadValue},
		{`{"a": 1}`, `{"$pull": {"a": 1}}`, mongoerr.BadValue},
		{`{"a": 1}`, `{"$pop": {"a": 1}}`, mongoerr.TypeMismatch},
		{`{"_id": 1}`, `{"$set": {"_id": 2}}`, mongoerr.ImmutableField},
		{`{"_id": 1}`, `{"$unset": {"_id": 1}}`, mongoerr.ImmutableField},
		{`{"_id": 1}`, `{"_id": 2}`, mongoerr.ImmutableField},
		{`{"a": [1]}`, `{"$rename": {"a.0": "b"}}`, mongoerr.BadValue},
		{`{"a": 1}`, `{"$set": {"a.$[].b": 1}}`, mongoerr.BadValue},
	} {
		t.Run(tc.before, func(t *testing.T) {
			u, err := Compile(val(t, tc.update), nil)
			require.NoError(t, err, tc.update)
			_, err = u.Apply(val(t, tc.before).Doc(), Context{Pos: -1})
			require.True(t, mongoerr.Is(err, tc.kind), "%s: %v", tc.update, err)
		})
	}
	for update, kind := range map[string]mongoerr.Kind{
		`{"$set": {"a": 1}, "$inc": {"a.b": 1}}`: mongoerr.ConflictingUpdate, `{"$set": {"a": 1}, "$unset": {"a": 1}}`: mongoerr.ConflictingUpdate,
		`{"$rename": {"a": "a"}}`: mongoerr.ConflictingUpdate, `{"$frob": {"a": 1}}`: mongoerr.NotImplementedKind, `{"$bit": {"a": {"and": 1}}}`: mongoerr.NotImplementedKind,
		`{"$set": {"": 1}}`: mongoerr.EmptyFieldName, `{"$set": {"$x": 1}}`: mongoerr.DollarPrefixed, `{"$inc": {"a": "x"}}`: mongoerr.TypeMismatch,
		`{"$push": {"a": {"$each": 1}}}`: mongoerr.BadValue, `{"$push": {"a": {"$each": [], "$frob": 1}}}`: mongoerr.BadValue, `{"$pop": {"a": 2}}`: mongoerr.FailedToParse,
		`{"$set": {"a.$[e]": 1}}`: mongoerr.BadValue, `{"a": 1, "$set": {"b": 1}}`: mongoerr.DollarPrefixed, `[{"$match": {}}]`: mongoerr.NotImplementedKind,
		`{"$pullAll": {"a": 1}}`: mongoerr.BadValue, `{"$currentDate": {"a": 1}}`: mongoerr.BadValue, `{"$set": 1}`: mongoerr.FailedToParse,
	} {
		_, err := Compile(val(t, update), nil)
		require.True(t, mongoerr.Is(err, kind) || (kind == mongoerr.ConflictingUpdate && mongoerr.Is(err, mongoerr.BadValue)), "%s: %v", update, err)
	}
}

func TestSeed(t *testing.T) {
	t.Parallel()
	f, err := filter.Compile(val(t, `{"_id": 7, "a": {"$eq": 1}, "b.c": 2, "d": {"$gt": 3}, "e": {"$in": [4]}, "$and": [{"g": 5}], "$or": [{"h": 1}, {"h": 2}]}`).Doc())
	require.NoError(t, err)
	u, err := Compile(val(t, `{"$set": {"z": 1}}`), nil)
	require.NoError(t, err)
	d, err := u.Seed(f)
	require.NoError(t, err)
	require.Equal(t, bson.Raw(val(t, `{"_id": 7, "a": 1, "b": {"c": 2}, "e": 4, "g": 5}`).B).String(), bson.Raw(d).String())
}

// FuzzApply applies any document as an update to any other: the result is a valid document and the input is untouched.
func FuzzApply(f *testing.F) {
	for _, s := range []string{`{"$set": {"a.b.0": 1}}`, `{"$push": {"a": {"$each": [1], "$sort": -1}}}`, `{"$pull": {"a": {"b": 1}}}`, `{"$inc": {"a.$[].b": 1}}`, `{"x": 1}`} {
		f.Add(val(f, s).B, val(f, `{"_id": 1, "a": [{"b": 1}]}`).B)
	}
	f.Fuzz(func(t *testing.T, u, d []byte) {
		if value.Validate(u) != nil || value.Validate(d) != nil {
			return
		}
		c, err := Compile(value.OfDoc(u), nil)
		if err != nil {
			return
		}
		before := string(d)
		out, err := c.Apply(d, Context{Pos: 0})
		require.Equal(t, before, string(d))
		if err == nil {
			require.LessOrEqual(t, len(out), 64<<20)
			if value.Validate(out) != nil {
				require.Error(t, value.Validate(out)) // Only the depth may be wrong; the caller refuses it.
				require.ErrorContains(t, value.Validate(out), "nested deeper")
			}
		}
	})
}
