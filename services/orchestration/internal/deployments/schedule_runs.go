package deployments

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/schedules"
)

// ScheduleDeployment creates the scheduled runs of a deployment in a window of time. A deployment that does not exist or is
// paused gets none.
func (s *Service) ScheduleDeployment(ctx context.Context, r *orchv1.ScheduleDeploymentRequest) (*emptypb.Empty, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	w, limits := r.GetWindow(), schedules.DefaultLimits
	start := s.deployments.Store().Now()
	if w.GetStartTime() != nil {
		start = w.GetStartTime().AsTime()
	}
	if w.GetEndTime() != nil {
		limits.MaxAhead = w.GetEndTime().AsTime().Sub(start)
	}
	if seconds := w.GetMinTime(); seconds > 0 {
		limits.MinAhead = time.Duration(min(seconds, limits.MaxAhead.Seconds()) * float64(time.Second))
	}
	if n := w.GetMinRuns(); n > 0 {
		limits.MinRuns = int(min(n, maxWindowRuns))
	}
	if n := w.GetMaxRuns(); n > 0 {
		limits.MaxRuns = int(min(n, maxWindowRuns))
	}
	if err := s.scheduler.Within(ctx, ws, id, start, limits); err != nil {
		return nil, err
	}
	s.flush.Flush(ctx, query.Deployment, ws, id)
	return &emptypb.Empty{}, nil
}

// maxWindowRuns bounds the runs of one schedule that one call creates.
const maxWindowRuns = 1000
