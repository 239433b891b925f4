package runs

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

// stretches is the number of intervals of Outcomes.
const stretches = 20

// Outcomes counts selected task runs that have ended by start time, in twenty equal intervals between two times. It
// separates failed and crashed runs from the others, and ignores runs that started outside.
func Outcomes(ctx context.Context, runs *query.Selection, start, end time.Time) (*orchv1.TaskRunOutcomesList, error) {
	var completed, failed [stretches]int64
	width := max(1, float64(end.Sub(start).Microseconds())/stretches)
	within := bson.D{{Key: "start_time", Value: bson.D{{Key: "$gte", Value: start.UnixMicro()}, {Key: "$lte", Value: end.UnixMicro()}}}}
	err := runs.Aggregate(ctx, within, []bson.D{{{Key: "$group", Value: bson.D{
		{Key: "_id", Value: bson.D{
			{Key: "bucket", Value: op("$floor", op("$divide", op("$subtract", "$start_time", start.UnixMicro()), width))},
			{Key: "type", Value: "$state.type"},
		}},
		{Key: "count", Value: op("$sum", int64(1))},
	}}}}, func(raw bson.Raw) error {
		var r row
		if err := bson.Unmarshal(raw, &r); err != nil {
			return fmt.Errorf("read a row of outcomes: %w", err)
		}
		number := min(int(r.Group.Bucket), stretches-1)
		if number < 0 {
			return nil
		}
		switch rules.StateType(r.Group.Type) {
		case orchv1.StateType_STATE_TYPE_FAILED, orchv1.StateType_STATE_TYPE_CRASHED:
			failed[number] += r.Count
		default:
			completed[number] += r.Count
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	list := &orchv1.TaskRunOutcomesList{}
	for i := range stretches {
		list.Stretches = append(list.Stretches, &orchv1.TaskRunOutcomes{
			Counts: map[string]int64{"completed": completed[i], "failed": failed[i]},
		})
	}
	return list, nil
}
