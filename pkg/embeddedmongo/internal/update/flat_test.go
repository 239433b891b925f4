package update

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// TestFlatUpdatesEqualTheTree: updates of top-level fields have one result with and without a tree of nodes.
func TestFlatUpdatesEqualTheTree(t *testing.T) {
	t.Parallel()
	memory := new([]byte)
	rapid.Check(t, func(rt *rapid.T) {
		names := rapid.SampledFrom([]string{"a", "b", "c", "1", "01", "10"})
		scalar := rapid.SampledFrom([]any{int32(1), "text", nil, bson.D{{Key: "id", Value: int32(1)}}, bson.D{}})
		list := rapid.Map(rapid.SliceOfN(scalar, 0, 4), func(s []any) any { return bson.A(s) })
		content := rapid.OneOf(scalar, list)
		d := bson.D{{Key: "_id", Value: int32(7)}}
		for _, name := range rapid.SliceOfN(names, 0, 5).Draw(rt, "fields") { // A name may repeat.
			d = append(d, bson.E{Key: name, Value: content.Draw(rt, "content")})
		}
		operators := bson.D{}
		for _, name := range rapid.SliceOfNDistinct(names, 1, 4, rapid.ID[string]).Draw(rt, "changed") {
			var op bson.E
			switch rapid.SampledFrom([]string{"set", "unset", "push", "each", "pull"}).Draw(rt, "operator") {
			case "set":
				op = bson.E{Key: "$set", Value: bson.D{{Key: name, Value: content.Draw(rt, "value")}}}
			case "unset":
				op = bson.E{Key: "$unset", Value: bson.D{{Key: name, Value: ""}}}
			case "push":
				op = bson.E{Key: "$push", Value: bson.D{{Key: name, Value: scalar.Draw(rt, "element")}}}
			case "each":
				op = bson.E{Key: "$push", Value: bson.D{{Key: name, Value: bson.D{{Key: "$each", Value: list.Draw(rt, "elements")}}}}}
			case "pull":
				op = bson.E{Key: "$pull", Value: bson.D{{Key: name, Value: rapid.SampledFrom([]any{
					int32(1), bson.D{{Key: "id", Value: bson.D{{Key: "$in", Value: bson.A{int32(1)}}}}}, bson.D{{Key: "$exists", Value: true}},
				}).Draw(rt, "pulled")}}}
			}
			operators = append(operators, op)
		}
		u, err := Compile(value.OfDoc(value.DocOf(operators)), nil)
		require.NoError(rt, err)
		require.True(rt, u.isFlat)
		tree := *u
		tree.isFlat = false
		old := value.DocOf(d)
		want, wantErr := tree.Apply(old, Context{Pos: -1})
		for _, c := range []Context{{Pos: -1}, {Pos: -1, Memory: memory}} {
			got, err := u.Apply(old, c)
			require.Equal(rt, wantErr, err)
			require.Equal(rt, bson.Raw(want).String(), bson.Raw(got).String())
		}
	})
}

// TestTheSameFieldTwice: a flat update is checked for conflicts as others are.
func TestTheSameFieldTwice(t *testing.T) {
	t.Parallel()
	_, err := Compile(val(t, `{"$set": {"a": 1, "b": 2}, "$unset": {"a": ""}}`), nil)
	require.ErrorContains(t, err, "updating the path 'a' would create a conflict at 'a'")
}

// BenchmarkApply applies the update of a state change to a document of a run.
func BenchmarkApply(b *testing.B) {
	d := bson.D{{Key: "_id", Value: int32(1)}}
	set := bson.D{}
	for i := range 40 {
		d = append(d, bson.E{Key: "field" + value.Index(i), Value: "a value of usual length"})
		if i%2 == 0 {
			set = append(set, bson.E{Key: "field" + value.Index(i), Value: "another value of usual length"})
		}
	}
	old := value.DocOf(d)
	change := value.OfDoc(value.DocOf(bson.D{
		{Key: "$set", Value: set},
		{Key: "$push", Value: bson.D{{Key: "outbox", Value: bson.D{{Key: "$each", Value: bson.A{bson.D{{Key: "id", Value: int32(1)}}}}}}}},
	}))
	memory := new([]byte)
	b.ReportAllocs()
	for b.Loop() {
		u, err := Compile(change, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := u.Apply(old, Context{Pos: -1, Memory: memory}); err != nil {
			b.Fatal(err)
		}
	}
}
