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
		{`"$$ROOT.i"`, `7`},
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
		{`{"$mod": ["$i", 4]}`, `3`},
		{`{"$mod": [-7, 4]}`, `-3`},
		{`{"$abs": -3}`, `3`},
		{`{"$ceil": "$f"}`, `3.0`},
		{`{"$floor": -2.5}`, `-3.0`},
		{`{"$round": 2.5}`, `2.0`},
		{`{"$round": [1234.567, 2]}`, `1234.57`},
		{`{"$trunc": [1299, -2]}`, `1200`},
		{`{"$sqrt": 9}`, `3.0`},
		{`{"$pow": [2, 10]}`, `1024`},
		{`{"$eq": ["$i", 7.0]}`, `true`},
		{`{"$lt": ["$zz", null]}`, `true`},
		{`{"$gt": ["$s", 5]}`, `true`},
		{`{"$cmp": [1, 2]}`, `-1`},
		{`{"$and": ["$i", "$b"]}`, `true`},
		{`{"$or": [0, null]}`, `false`},
		{`{"$not": [0]}`, `true`},
		{`{"$and": []}`, `true`},
		{`{"$cond": [{"$gte": ["$i", 7]}, "y", "n"]}`, `"y"`},
		{`{"$cond": {"if": false, "then": 1, "else": 2}}`, `2`},
		{`{"$ifNull": ["$n", "$zz", 3]}`, `3`},
		{`{"$switch": {"branches": [{"case": {"$eq": ["$i", 1]}, "then": 1}, {"case": true, "then": 2}]}}`, `2`},
		{`{"$let": {"vars": {"k": {"$add": ["$i", 1]}}, "in": {"$multiply": ["$$k", 2]}}}`, `16`},
		{`{"$concat": ["$s", "-", "x"]}`, `"Ab-x"`},
		{`{"$toUpper": "$s"}`, `"AB"`},
		{`{"$strLenCP": "é"}`, `1`},
		{`{"$strLenBytes": "é"}`, `2`},
		{`{"$substrCP": ["héllo", 1, 3]}`, `"éll"`},
		{`{"$split": ["a-b", "-"]}`, `["a", "b"]`},
		{`{"$strcasecmp": ["aB", "Ab"]}`, `0`},
		{`{"$size": "$a"}`, `3`},
		{`{"$in": [2, "$a"]}`, `true`},
		{`{"$arrayElemAt": ["$a", -1]}`, `3`},
		{`{"$slice": ["$a", -2]}`, `[2, 3]`},
		{`{"$slice": ["$a", 1, 1]}`, `[2]`},
		{`{"$concatArrays": ["$a", [9]]}`, `[1, 2, 3, 9]`},
		{`{"$reverseArray": "$a"}`, `[3, 2, 1]`},
		{`{"$setUnion": ["$a", [3, 4]]}`, `[1, 2, 3, 4]`},
		{`{"$map": {"input": "$a", "as": "x", "in": {"$add": ["$$x", "$i"]}}}`, `[8, 9, 10]`},
		{`{"$filter": {"input": "$a", "cond": {"$gt": ["$$this", 1]}}}`, `[2, 3]`},
		{`{"$reduce": {"input": "$a", "initialValue": 0, "in": {"$add": ["$$value", "$$this"]}}}`, `6`},
		{`{"$first": "$a"}`, `1`},
		{`{"$last": "$a"}`, `3`},
		{`{"$mergeObjects": ["$o", {"x": 2, "z": 3}]}`, `{"x": 2, "z": 3}`},
		{`{"$objectToArray": "$o"}`, `[{"k": "x", "v": 1}]`},
		{`{"$arrayToObject": [[{"k": "p", "v": 1}]]}`, `{"p": 1}`},
		{`{"$getField": "i"}`, `7`},
		{`{"$sum": "$a"}`, `6`},
		{`{"$avg": [1, 2]}`, `1.5`},
		{`{"$min": "$a"}`, `1`},
		{`{"$max": ["$i", "$f"]}`, `7`},
		{`{"$type": "$zz"}`, `"missing"`},
		{`{"$toString": "$i"}`, `"7"`},
		{`{"$toInt": "42"}`, `42`},
		{`{"$toLong": "$f"}`, `{"$numberLong": "2"}`},
		{`{"$toBool": 0}`, `false`},
		{`{"$toDouble": "1.5"}`, `1.5`},
		{`{"$toDate": "2024-01-01"}`, `{"$date": "2024-01-01T00:00:00Z"}`},
		{`{"$isNumber": "$i"}`, `true`},
		{`{"$year": "$d"}`, `2024`},
		{`{"$dayOfYear": "$d"}`, `60`},
		{`{"$dayOfWeek": "$d"}`, `5`},
		{`{"$millisecond": "$d"}`, `678`},
		{`{"$isoWeek": "$d"}`, `9`},
		{`{"$dateTrunc": {"date": "$d", "unit": "hour"}}`, `{"$date": "2024-02-29T13:00:00Z"}`},
		{`{"$dateTrunc": {"date": "$d", "unit": "minute", "binSize": 5}}`, `{"$date": "2024-02-29T13:10:00Z"}`},
		{`{"$dateTrunc": {"date": "$d", "unit": "week", "startOfWeek": "monday"}}`, `{"$date": "2024-02-26T00:00:00Z"}`},
		{`{"$dateTrunc": {"date": "$d", "unit": "quarter"}}`, `{"$date": "2024-01-01T00:00:00Z"}`},
		{`{"$dateTrunc": {"date": {"$date": "1999-12-31T23:59:59Z"}, "unit": "day"}}`, `{"$date": "1999-12-31T00:00:00Z"}`},
		{`{"$dateAdd": {"startDate": "$d", "unit": "year", "amount": 1}}`, `{"$date": "2025-02-28T13:14:15.678Z"}`},
		{`{"$dateSubtract": {"startDate": "$d", "unit": "day", "amount": 1}}`, `{"$date": "2024-02-28T13:14:15.678Z"}`},
		{`{"$dateDiff": {"startDate": "$d", "endDate": "$e", "unit": "month"}}`, `{"$numberLong": "13"}`},
		{`{"$dateDiff": {"startDate": "$d", "endDate": "$e", "unit": "day"}}`, `{"$numberLong": "366"}`},
		{`{"$dateToString": {"date": "$d", "format": "%Y/%m/%d %H:%M:%S.%L %j %u %%"}}`, `"2024/02/29 13:14:15.678 060 4 %"`},
		{`"$$NOW"`, `{"$date": {"$numberLong": "1000"}}`},
	} {
		t.Run(tc.x, func(t *testing.T) {
			x, err := Compile(val(t, tc.x))
			require.NoError(t, err, tc.x)
			v, err := x(&Env{Root: val(t, input).Doc(), Now: 1000})
			require.NoError(t, err, tc.x)
			require.Equal(t, value.Format(val(t, tc.want)), value.Format(v), tc.x)
		})
	}
}

func TestEvalErrors(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		`{"$divide": ["$i", 0]}`, `{"$mod": ["$i", 0]}`, `{"$add": ["$s", 1]}`, `{"$size": "$i"}`, `{"$toInt": "x"}`, `{"$concat": ["$i"]}`, `{"$year": "$s"}`,
		`{"$switch": {"branches": [{"case": false, "then": 1}]}}`, `{"$in": [1, 2]}`, `{"$dateTrunc": {"date": "$d", "unit": "frob"}}`, `{"$sqrt": -1}`,
	} {
		x, err := Compile(val(t, s))
		require.NoError(t, err, s)
		_, err = x(&Env{Root: val(t, input).Doc()})
		require.Error(t, err, s)
	}
}

func TestCompileErrors(t *testing.T) {
	t.Parallel()
	for s, names := range map[string]string{`{"$frob": 1}`: "$frob", `"$$frob"`: "$$frob", `{"$dateTrunc": {"date": 1, "unit": 2, "timezone": 3}}`: "timezone"} {
		_, err := Compile(val(t, s))
		require.True(t, mongoerr.Is(err, mongoerr.NotImplementedKind), "%v", err)
		require.ErrorContains(t, err, names)
	}
	for _, s := range []string{`{"$eq": [1]}`, `{"$add": 1, "$eq": 2}`, `"$a..b"`, `{"a.b": 1}`, `{"$cond": [1, 2]}`, `{"$ifNull": [1]}`} {
		_, err := Compile(val(t, s))
		require.Error(t, err, s)
	}
}
