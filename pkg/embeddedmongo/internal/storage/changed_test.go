package storage

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

func TestChangedFields(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b bson.D
		want []string
	}{
		"nothing":                 {bson.D{{Key: "a", Value: 1}, {Key: "b", Value: 2}}, bson.D{{Key: "a", Value: 1}, {Key: "b", Value: 2}}, nil},
		"a value":                 {bson.D{{Key: "a", Value: 1}, {Key: "b", Value: 2}}, bson.D{{Key: "a", Value: 1}, {Key: "b", Value: 3}}, []string{"b"}},
		"a type":                  {bson.D{{Key: "a", Value: int32(1)}}, bson.D{{Key: "a", Value: int64(1)}}, []string{"a"}},
		"inside":                  {bson.D{{Key: "a", Value: bson.D{{Key: "x", Value: 1}}}}, bson.D{{Key: "a", Value: bson.D{{Key: "x", Value: 2}}}}, []string{"a"}},
		"added at the end":        {bson.D{{Key: "a", Value: 1}}, bson.D{{Key: "a", Value: 1}, {Key: "b", Value: 2}}, []string{"b"}},
		"removed in the middle":   {bson.D{{Key: "a", Value: 1}, {Key: "b", Value: 2}, {Key: "c", Value: 3}}, bson.D{{Key: "a", Value: 1}, {Key: "c", Value: 3}}, []string{"b"}},
		"another order":           {bson.D{{Key: "a", Value: 1}, {Key: "b", Value: 2}}, bson.D{{Key: "b", Value: 2}, {Key: "a", Value: 1}}, nil},
		"replaced by another":     {bson.D{{Key: "a", Value: 1}}, bson.D{{Key: "b", Value: 1}}, []string{"a", "b"}},
		"another order and value": {bson.D{{Key: "a", Value: 1}, {Key: "b", Value: 2}}, bson.D{{Key: "b", Value: 2}, {Key: "a", Value: 9}}, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, names(appendChangedFields(nil, encoded(t, c.a), encoded(t, c.b))))
		})
	}
}

// An index may be passed over only when its entries stay as they are.
func TestUntouchedIndexesKeepTheirEntries(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		fields := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "a.x", "b.x"}), 1, 3, rapid.ID[string]).Draw(rt, "fields")
		key := bson.D{}
		for _, f := range fields {
			key = append(key, bson.E{Key: f, Value: 1})
		}
		spec := IndexSpec{ID: 1, Key: bson.Raw(encoded(t, key))}
		if rapid.Bool().Draw(rt, "partial") {
			field := rapid.SampledFrom([]string{"a", "c", "a.x"}).Draw(rt, "partial on")
			spec.Partial = bson.Raw(encoded(t, bson.D{{Key: field, Value: bson.D{{Key: "$exists", Value: true}}}}))
		}
		ix, err := OpenIndex(spec)
		require.NoError(rt, err)
		a, b := encoded(t, document(rt)), encoded(t, document(rt))
		before, beforeErr := ix.entries(a)
		after, afterErr := ix.entries(b)
		if beforeErr != nil || afterErr != nil {
			return
		}
		changed := appendChangedFields(nil, a, b)
		if ix.untouched(changed) {
			require.Equal(rt, before.Keys, after.Keys)
		}
		if ix.excludes(b, changed) {
			require.Empty(rt, before.Keys)
			require.Empty(rt, after.Keys)
		}
	})
}

func document(t *rapid.T) bson.D {
	d := bson.D{}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 4, rapid.ID[string]).Draw(t, "names") {
		d = append(d, bson.E{Key: name, Value: rapid.SampledFrom([]any{1, "s", nil, bson.D{{Key: "x", Value: 1}}, bson.A{1, 2}}).Draw(t, name)})
	}
	return d
}

func encoded(t *testing.T, d bson.D) value.Doc {
	t.Helper()
	b, err := bson.Marshal(d)
	require.NoError(t, err)
	return value.Doc(b)
}

func names(keys [][]byte) []string {
	var list []string
	for _, k := range keys {
		if !slices.Contains(list, string(k)) {
			list = append(list, string(k))
		}
	}
	return list
}
