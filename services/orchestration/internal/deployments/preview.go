package deployments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/schedule"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/schedules"
)

// PreviewSchedule returns the next times of a schedule that need not be stored.
func (s *Service) PreviewSchedule(ctx context.Context, r *orchv1.PreviewScheduleRequest) (*orchv1.SchedulePreview, error) {
	memory, err := s.admission.Compute(ctx, proto.Size(r))
	if err != nil {
		return nil, fmt.Errorf("preview schedule: %w", err)
	}
	defer memory.Close()
	q, now := r.GetQuery(), s.deployments.Store().Now()
	parsed, err := schedules.Parse(q.GetSchedule(), now)
	if err != nil {
		return nil, errSchedule(q.GetSchedule(), err)
	}
	start, end := now, time.Time{}
	if q.Start != nil {
		start = q.GetStart().AsTime()
	}
	if q.End != nil {
		end = q.GetEnd().AsTime()
	}
	times, err := schedule.First(parsed, start, end, int(q.GetN()))
	if err != nil && !errors.Is(err, schedule.ErrTooSparse) {
		return nil, err
	}
	preview := &orchv1.SchedulePreview{Timezone: parsed.Location().String()}
	for _, t := range times {
		preview.Times = append(preview.Times, timestamppb.New(t))
	}
	return preview, nil
}
