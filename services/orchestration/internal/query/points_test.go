package query

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// TestPoints: a list of texts of a field with one value becomes one filter for each text; all other filters stay as they are.
func TestPoints(t *testing.T) {
	t.Parallel()
	in := func(values ...any) bson.D { return bson.D{{Key: "$in", Value: append(bson.A{}, values...)}} }
	ws, name := bson.E{Key: "ws", Value: 1}, bson.E{Key: "name", Value: "a"}
	for label, c := range map[string]struct{ filter, want any }{
		"two types": {
			bson.D{ws, {Key: "state.type", Value: in("A", "B")}, name},
			[]bson.D{{ws, {Key: "state.type", Value: "A"}, name}, {ws, {Key: "state.type", Value: "B"}, name}},
		},
		"a text twice":         {bson.D{{Key: "event", Value: in("B", "A", "B")}}, []bson.D{{{Key: "event", Value: "A"}}, {{Key: "event", Value: "B"}}}},
		"one type":             {bson.D{{Key: "state.type", Value: in("A")}}, nil},
		"no type":              {bson.D{{Key: "state.type", Value: in()}}, nil},
		"absence":              {bson.D{{Key: "state.type", Value: in("A", nil)}}, nil},
		"a field with a list":  {bson.D{{Key: "tags", Value: in("A", "B")}}, nil},
		"another operator":     {bson.D{{Key: "state.type", Value: bson.D{{Key: "$nin", Value: bson.A{"A", "B"}}}}}, nil},
		"two operators":        {bson.D{{Key: "state.type", Value: append(in("A", "B"), bson.E{Key: "$ne", Value: "A"})}}, nil},
		"more than are useful": {bson.D{{Key: "event", Value: in("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q")}}, nil},
		"no filter":            {bson.D{}, nil},
	} {
		t.Run(label, func(t *testing.T) {
			t.Parallel()
			want, ok := c.want.([]bson.D)
			if !ok {
				want = []bson.D{c.filter.(bson.D)}
			}
			require.Equal(t, want, Points(c.filter.(bson.D)))
		})
	}
}
