package query

import (
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// BenchmarkPages reads pages of flow runs by the index that the service names, and by the one that the server chooses: on the embedded
// store, or on the MongoDB server that mongotest.Variable names.
func BenchmarkPages(b *testing.B) {
	const runs, size = 10_000, 200
	db, ws := database(b), uuid.New()
	runsOfEveryKind(b, db, ws, runs)
	start := bson.D{{Key: "sort_start", Value: -1}, {Key: "_id", Value: -1}}
	flow := bson.D{{Key: "flow_id", Value: bson.D{{Key: "$in", Value: bson.A{binary(numbered(3))}}}}}
	state := bson.D{{Key: "state.type", Value: bson.D{{Key: "$in", Value: bson.A{"FAILED", "RUNNING"}}}}}
	tag := bson.D{{Key: "tags", Value: bson.D{{Key: "$all", Value: bson.A{"t1"}}}}}
	for _, x := range []struct {
		name   string
		filter bson.D
		offset int64 // The greatest one.
	}{
		{"all", nil, 0},
		{"all by offset", nil, runs - size},
		{"flow by offset", flow, runs/10 - size},
		{"states", state, 0},
		{"flow, states, tag", allOf([]bson.D{flow, state, tag}), 0},
	} {
		s := Resolver{Reader: NewReader(db)}.Matching(ws, FlowRun, x.filter)
		require.NoError(b, s.Visit(b.Context(), start, 0, 0, func(bson.Raw) error { return nil })) // The documents are in the cache.
		for _, hinted := range []bool{true, false} {
			name := x.name + "/server's choice"
			if hinted {
				name = x.name + "/hint"
			}
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					o := StreamOptions{Sort: start, Limit: size}
					if x.offset > 0 {
						o.Skip = rand.Int64N(x.offset/size+1) * size
					}
					if hinted {
						var err error
						o.Hint, err = s.hint(b.Context(), start)
						require.NoError(b, err)
					}
					n, err := s.visit(b.Context(), nil, s.filter, o, func(bson.Raw) error { return nil })
					require.NoError(b, err)
					require.Positive(b, n)
				}
			})
		}
	}
}
