package query

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// A search in the texts of logs reads a bounded number of them, and is refused beyond it; the other criteria may select fewer.
func TestSearchesOfLogsAreBounded(t *testing.T) {
	t.Parallel()
	db, ws, run := database(t), uuid.New(), uuid.New()
	makeIndexes(t, db, false)
	docs := make([]any, 0, 30)
	for i := range 30 {
		d := bson.D{{Key: "_id", Value: binary(numbered(i))}, {Key: "ws", Value: binary(ws)}, {Key: "timestamp", Value: int64(i)}, {Key: "message", Value: "line"}}
		if i%3 == 0 {
			d = append(d, bson.E{Key: "flow_run_id", Value: binary(run)})
		}
		docs = append(docs, d)
	}
	_, err := db.Collection(string(Log)).InsertMany(t.Context(), docs)
	require.NoError(t, err)
	for name, x := range map[string]struct {
		filter string
		want   int64 // 0: refused.
	}{
		"all":             {`{"text": {"query": "line"}}`, 0},
		"none of a text":  {`{"text": {"query": "-other"}}`, 0},
		"a run":           {`{"text": {"query": "line"}, "flow_run_id": {"any_": ["` + run.String() + `"]}}`, 10},
		"a window":        {`{"text": {"query": "li"}, "timestamp": {"before_": "1970-01-01T00:00:00.000009Z"}}`, 10},
		"too long window": {`{"text": {"query": "li other"}, "timestamp": {"before_": "1970-01-01T00:00:00.000021Z"}}`, 0},
		"without a text":  {`{}`, 30},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := NewPlan(Log, &orchv1.LogQuery{Logs: parse(t, &orchv1.LogFilter{}, x.filter)})
			require.NoError(t, err)
			s, err := Resolver{Reader: NewReader(db), MaxSearched: 20}.Select(t.Context(), ws, plan)
			if x.want == 0 {
				require.ErrorIs(t, err, ErrBroadSearch)
				return
			}
			require.NoError(t, err)
			n, err := s.Count(t.Context())
			require.NoError(t, err)
			require.Equal(t, x.want, n)
		})
	}
}
