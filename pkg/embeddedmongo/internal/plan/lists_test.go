package plan

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

func conjoined(t testing.TB, f bson.D) *conjunction {
	t.Helper()
	d, err := bson.Marshal(f)
	require.NoError(t, err)
	compiled, err := filter.Compile(value.Doc(d))
	require.NoError(t, err)
	return conjoin(compiled)
}

// The points of a list are those of its values, for both directions, and are encoded once.
func TestListsAreEncodedOnce(t *testing.T) {
	t.Parallel()
	list := bson.A{"b", 3, "a", bson.Null{}, 2.5, bson.A{}, true, "a"}
	con := conjoined(t, bson.D{{Key: "x", Value: bson.D{{Key: "$in", Value: list}}}})
	for _, desc := range []bool{false, true} {
		b := con.boundFor(con.byPath["x"], desc, true)
		want := [][]byte{value.AppendKey(nil, value.Value{T: bson.TypeUndefined}, desc)}
		for _, v := range list[:7] {
			want = append(want, value.AppendKey(nil, value.Of(v), desc))
		}
		slices.SortFunc(want, bytes.Compare)
		require.Equal(t, want, b.points)
		require.False(t, b.equal)
		again := con.boundFor(con.byPath["x"], desc, true)
		require.Same(t, &b.points[0], &again.points[0])
	}
	con = conjoined(t, bson.D{{Key: "x", Value: bson.D{{Key: "$in", Value: bson.A{1, bson.A{1}}}}}})
	require.Nil(t, con.boundFor(con.byPath["x"], false, false), "an array with elements")
	con = conjoined(t, bson.D{{Key: "a.x", Value: bson.D{{Key: "$in", Value: bson.A{1, nil}}}}})
	require.False(t, con.boundFor(con.byPath["a.x"], false, true).exact, "null below an array")
	require.True(t, con.boundFor(con.byPath["a.x"], false, false).exact)
}

// A list that another condition narrows does not pass for the whole one.
func TestNarrowedLists(t *testing.T) {
	t.Parallel()
	con := conjoined(t, bson.D{{Key: "x", Value: bson.D{{Key: "$in", Value: bson.A{1, 2, 3}}, {Key: "$gt", Value: 1}}}})
	require.Len(t, con.boundFor(con.byPath["x"], false, false).points, 2)
	require.Len(t, con.boundFor(con.byPath["x"], false, true).points, 3, "other elements may meet the other condition")
	require.Len(t, con.boundFor(con.byPath["x"], false, false).points, 2)
}

// Keys of an arena do not share bytes, whatever room it had.
func TestArena(t *testing.T) {
	t.Parallel()
	var a arena
	var got, want []string
	for i := range 100 {
		if i%7 == 0 {
			a.grow(i)
		}
		got = append(got, string(a.concat([]byte("k"), fmt.Append(nil, i))), string(a.successor([]byte{byte(i), 0xff, 0xff})))
		want = append(want, fmt.Sprint("k", i), string([]byte{byte(i) + 1}))
	}
	require.Equal(t, want, got)
	require.Nil(t, a.successor([]byte{0xff, 0xff}))
	require.Nil(t, a.successor(nil))
	x := a.concat([]byte("a"), []byte("b"))
	_ = append(x, 'c')
	require.Equal(t, "d", string(a.concat([]byte("d"), nil)))
	require.Equal(t, "ab", string(x))
}

// BenchmarkPointsOfLongLists plans a list of 10,000 ids for three indexes.
func BenchmarkPointsOfLongLists(b *testing.B) {
	list := make(bson.A, 10_000)
	for i := range list {
		list[i] = bson.Binary{Subtype: 4, Data: fmt.Appendf(nil, "%016d", i*7919%10_000)}
	}
	con := conjoined(b, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: list}}}})
	b.ReportAllocs()
	for b.Loop() {
		con.lists = lists{}
		for range 3 {
			spans([]byte("index"), []*bound{con.boundFor(con.byPath["_id"], false, false)})
		}
	}
}
