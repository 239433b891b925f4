package flowruns

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/runs"
)

// ReadFlowRunHistory counts the matching runs by time and state.
func (s *Service) ReadFlowRunHistory(ctx context.Context, r *orchv1.ReadFlowRunHistoryRequest) (*orchv1.HistoryList, error) {
	q := r.GetQuery()
	span, err := runs.NewSpan(q.GetHistoryStart(), q.GetHistoryEnd(), q.GetHistoryIntervalSeconds())
	if err != nil {
		return nil, err
	}
	selection, err := s.source.Select(ctx, q)
	if err != nil {
		return nil, err
	}
	return runs.Buckets(ctx, selection, s.runs.Store().Totals(), span, s.runs.Store().Now())
}

// AverageFlowRunLateness returns the mean lateness of the matching runs; null if none matches.
func (s *Service) AverageFlowRunLateness(ctx context.Context, r *orchv1.AverageFlowRunLatenessRequest) (*orchv1.Lateness, error) {
	selection, err := s.source.Select(ctx, r.GetQuery())
	if err != nil {
		return nil, err
	}
	var count int64
	var sum float64
	err = selection.Aggregate(ctx, nil, []bson.D{{{Key: "$group", Value: bson.D{
		{Key: "_id", Value: nil},
		{Key: "count", Value: bson.D{{Key: "$sum", Value: int64(1)}}},
		{Key: "seconds", Value: bson.D{{Key: "$sum", Value: runs.LatenessExpression(s.runs.Store().Now())}}},
	}}}}, func(raw bson.Raw) error {
		var row struct {
			Count   int64   `bson:"count"`
			Seconds float64 `bson:"seconds"`
		}
		if err := bson.Unmarshal(raw, &row); err != nil {
			return fmt.Errorf("read an average: %w", err)
		}
		count += row.Count
		sum += row.Seconds
		return nil
	})
	if err != nil || count == 0 {
		return &orchv1.Lateness{}, err
	}
	return &orchv1.Lateness{Seconds: new(sum / float64(count))}, nil
}
