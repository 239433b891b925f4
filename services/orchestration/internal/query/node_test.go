package query

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// The bounds of one field become one range, which an index and hour totals decide. Other conditions on one field stay apart.
func TestFiltersThatAllHold(t *testing.T) {
	t.Parallel()
	after, before := criterion("at", "$gte", int64(1)), criterion("at", "$lte", int64(2))
	for _, x := range []struct {
		name string
		list []bson.D
		want string
	}{
		{"two bounds", []bson.D{bson.D(after), bson.D(before)}, `{"at":{"$gte":1,"$lte":2}}`},
		{"the same bound twice", []bson.D{bson.D(after), bson.D(after)}, `{"at":{"$gte":1},"$and":[{"at":{"$gte":1}}]}`},
		{"a third bound", []bson.D{bson.D(after), bson.D(before), bson.D(after)}, `{"at":{"$gte":1,"$lte":2},"$and":[{"at":{"$gte":1}}]}`},
		{"a value and a bound", []bson.D{{{Key: "at", Value: int64(1)}}, bson.D(before)}, `{"at":1,"$and":[{"at":{"$lte":2}}]}`},
		{"a list and a bound", []bson.D{bson.D(criterion("at", "$in", bson.A{})), bson.D(before)}, `{"at":{"$in":[]},"$and":[{"at":{"$lte":2}}]}`},
		{"a pattern and its options", []bson.D{bson.D(regex("at", "a", "i")), bson.D(before)}, `{"at":{"$regex":"a","$options":"i"},"$and":[{"at":{"$lte":2}}]}`},
		{"a bound beside a clash", []bson.D{bson.D(after), {before[0], {Key: "b", Value: int64(1)}}, {{Key: "b", Value: int64(2)}}}, `{"at":{"$gte":1,"$lte":2},"b":1,"$and":[{"b":2}]}`},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			have, err := bson.MarshalExtJSON(allOf(x.list), false, false)
			require.NoError(t, err)
			require.JSONEq(t, x.want, string(have))
		})
	}
	require.Equal(t, criterion("at", "$gte", int64(1)), after, "the filters are unchanged")
}
