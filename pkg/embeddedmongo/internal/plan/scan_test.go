package plan

import (
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// The runs have the kinds 0 to 4. Each list has many values without runs.
func TestSpansWithoutKeysCostNoSeeks(t *testing.T) {
	t.Parallel()
	s := newRunStore(t, 50, 1)
	for name, c := range map[string]struct {
		kinds []any
		found []int32
		seeks int // The number of seeks: one for the first span, and one for each span that begins behind the last key that was read.
	}{
		"none":               {kinds: numbers(10, 60), seeks: 1},
		"before all":         {kinds: numbers(-50, 0), seeks: 1},
		"adjacent":           {kinds: numbers(0, 5), found: []int32{0, 1, 2, 3, 4}, seeks: 1},
		"before and behind":  {kinds: slices.Concat(numbers(-50, 1), numbers(5, 60)), found: []int32{0}, seeks: 2},
		"with a gap":         {kinds: slices.Concat(numbers(-50, 2), numbers(4, 60)), found: []int32{0, 1, 4}, seeks: 2},
		"only between kinds": {kinds: []any{0.5, 1.5, 2, 2.5, 3.5}, found: []int32{2}, seeks: 3},
	} {
		for _, reverse := range []bool{false, true} {
			p, err := New(s.reader(s.runs), Query{Filter: s.filter(bson.E{Key: "kind", Value: bson.D{{Key: "$in", Value: c.kinds}}})})
			require.NoError(t, err)
			require.Len(t, p.spans, len(c.kinds), name)
			p.reverse = reverse
			rows, err := p.Run()
			require.NoError(t, err)
			found, err := rows.All()
			require.NoError(t, err)
			require.Len(t, found, 10*len(c.found), name)
			var kinds []int32
			for _, row := range found {
				kinds = append(kinds, bson.Raw(row.Doc).Lookup("kind").Int32())
			}
			if reverse {
				slices.Reverse(kinds)
			}
			require.True(t, slices.IsSorted(kinds), name)
			require.Equal(t, c.found, slices.Compact(kinds), name)
			stats := rows.ks.(*sequence).it.Stats()
			require.LessOrEqual(t, stats.ForwardSeekCount[pebble.InterfaceCall]+stats.ReverseSeekCount[pebble.InterfaceCall], c.seeks, name)
			require.NoError(t, rows.Close())
		}
	}
}
