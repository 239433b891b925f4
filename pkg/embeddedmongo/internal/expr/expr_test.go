package expr

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.uber.org/goleak"

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

const input = `{"i": 7, "l": {"$numberLong": "5"}, "f": 2.5, "s": "Ab", "n": null, "a": [1, 2, 3], "o": {"x": 1}, "os": [{"x": 1}, {"y": 2}, {"x": 3}],
	"d": {"$date": "2024-02-29T13:14:15.678Z"}, "e": {"$date": "2025-03-01T00:00:00Z"}, "b": true}`

func TestEval(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ x, want string }{
		{`"$i"`, `7`},
		{`"$o.x"`, `1`},
		{`"$os.x"`, `[1, 3]`},
		{`"plain"`, `"plain"`},
		{`{"$literal": "$i"}`, `"$i"`},
		{`{"p": "$i", "q": ["$zz"]}`, `{"p": 7, "q": [null]}`},
		{`{"$add": ["$i", 1]}`, `8`},
		{`{"$add": [2147483647, 1]}`, `{"$numberLong": "2147483648"}`},
		{`{"$add": ["$i", null]}`, `null`},
		{`{"$add": ["$d", 322]}`, `{"$date": "2024-02-29T13:14:16Z"}`},
		{`{"$subtract": ["$e", "$d"]}`, `{"$numberLong": "31574744322"}`},
		{`{"$subtract": ["$i", "$f"]}`, `4.5`},
		{`{"$multiply": ["$i", "$l"]}`, `{"$numberLong": "35"}`},
		{`{"$divide": ["$i", 2]}`, `3.5`},
		{`{"$floor": -2.5}`, `-3.0`},
		{`{"$eq": ["$i", 7.0]}`, `true`},
		{`{"$lt": ["$zz", null]}`, `true`},
		{`{"$gt": ["$s", 5]}`, `true`},
		{`{"$and": ["$i", "$b"]}`, `true`},
		{`{"$or": [0, null]}`, `false`},
		{`{"$not": [0]}`, `true`},
		{`{"$and": []}`, `true`},
		{`{"$cond": [{"$gte": ["$i", 7]}, "y", "n"]}`, `"y"`},
		{`{"$cond": {"if": false, "then": 1, "else": 2}}`, `2`},
		{`{"$ifNull": ["$n", "$zz", 3]}`, `3`},
		{`{"$in": [2, "$a"]}`, `true`},
		{`{"$sum": "$a"}`, `6`},
		{`{"$min": "$a"}`, `1`},
		{`{"$max": ["$i", "$f"]}`, `7`},
	} {
		t.Run(tc.x, func(t *testing.T) {
			x, err := Compile(val(t, tc.x))
			require.NoError(t, err, tc.x)
			v, err := x(&Env{Root: val(t, input).Doc()})
			require.NoError(t, err, tc.x)
			require.Equal(t, value.Format(val(t, tc.want)), value.Format(v), tc.x)
		})
	}
}

func TestEvalErrors(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		`{"$divide": ["$i", 0]}`, `{"$add": ["$s", 1]}`, `{"$in": [1, 2]}`, `{"$floor": "$s"}`, `{"$subtract": ["$i", "$s"]}`,
	} {
		x, err := Compile(val(t, s))
		require.NoError(t, err, s)
		_, err = x(&Env{Root: val(t, input).Doc()})
		require.Error(t, err, s)
	}
}

func TestCompileErrors(t *testing.T) {
	t.Parallel()
	for s, names := range map[string]string{`{"$frob": 1}`: "$frob", `"$$ROOT"`: "$$ROOT"} {
		_, err := Compile(val(t, s))
		require.True(t, mongoerr.Is(err, mongoerr.NotImplementedKind), "%v", err)
		require.ErrorContains(t, err, names)
	}
	for _, s := range []string{`{"$eq": [1]}`, `{"$add": 1, "$eq": 2}`, `"$a..b"`, `{"a.b": 1}`, `{"$cond": [1, 2]}`, `{"$ifNull": [1]}`} {
		_, err := Compile(val(t, s))
		require.Error(t, err, s)
	}
}
