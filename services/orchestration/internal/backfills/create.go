package backfills

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/schedule"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/parameters"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/schedules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// maxRuns bounds the runs of a backfill.
	maxRuns = 10_000
	// maxOpen bounds the backfills of a workspace that have not ended, and maxStored all backfills of a workspace.
	maxOpen, maxStored = 50, 1000
)

// CreateBackfill stores a backfill. The next pass creates its first runs.
func (s *Service) CreateBackfill(ctx context.Context, r *orchv1.CreateBackfillRequest) (*orchv1.Backfill, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	memory, err := s.admission.Compute(ctx, proto.Size(r))
	if err != nil {
		return nil, fmt.Errorf("create backfill: %w", err)
	}
	defer memory.Close()
	b, err := s.newBackfill(ctx, info.Workspace, r.GetBackfill())
	if err != nil {
		return nil, err
	}
	if err := s.checkNumber(ctx, info.Workspace); err != nil {
		return nil, err
	}
	id, err := resourceid.Parse(b.GetId())
	if err != nil {
		return nil, err
	}
	created, err := s.lifecycle.Created(ctx, info.Workspace, b)
	if err != nil {
		return nil, err
	}
	if err := s.backfills.Insert(ctx, info.Workspace, b, created...); err != nil {
		return nil, err
	}
	s.flush.Flush(ctx, query.Backfill, info.Workspace, id)
	return b, nil
}

func (s *Service) newBackfill(ctx context.Context, ws uuid.UUID, create *orchv1.BackfillCreate) (*orchv1.Backfill, error) {
	d, sched, err := s.find(ctx, ws, create)
	if err != nil {
		return nil, err
	}
	now := s.backfills.Store().Now()
	b := &orchv1.Backfill{
		Id: s.backfills.Store().NewID().String(), DeploymentId: d.GetId(), ScheduleId: sched.GetId(),
		Schedule: sched.GetSchedule(), StartTime: create.GetStartTime(), EndTime: create.GetEndTime(), MaxParallelRuns: create.GetMaxParallelRuns(),
		State: orchv1.BackfillState_BACKFILL_STATE_RUNNING, Open: new(true),
	}
	if b.GetEndTime().AsTime().After(now) {
		return nil, invalid("end_time", "the range ends in the future, for which the scheduler creates the runs")
	}
	if b.GetEndTime().AsTime().Before(b.GetStartTime().AsTime()) {
		return nil, invalid("end_time", "the range ends before it begins")
	}
	times, err := schedules.Parse(sched.GetSchedule(), sched.GetCreated().AsTime())
	if err != nil {
		return nil, invalid("schedule_id", "the schedule has no times: "+schedules.Reason(err))
	}
	if b.TotalRuns, err = count(times, b); err != nil {
		return nil, err
	}
	if b.Parameters, err = parameters.Merge(sched.GetParameters(), create.GetParameters()); err != nil {
		return nil, fmt.Errorf("merge the parameters of a backfill: %w", err)
	}
	return b, s.check(ctx, ws, d, b.GetParameters())
}

// find reads the deployment and the schedule that a request names.
func (s *Service) find(ctx context.Context, ws uuid.UUID, create *orchv1.BackfillCreate) (*orchv1.Deployment, *orchv1.DeploymentSchedule, error) {
	id, err := resourceid.Parse(create.GetDeploymentId())
	if err != nil {
		return nil, nil, err
	}
	d, err := s.deployments.Get(ctx, ws, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil, rpc.Detail(http.StatusNotFound, "Deployment not found")
	}
	if err != nil {
		return nil, nil, err
	}
	if create.ScheduleId == nil {
		if n := len(d.GetSchedules()); n != 1 {
			return nil, nil, invalid("schedule_id", fmt.Sprintf("the deployment has %d schedules, so the backfill has to name one", n))
		}
		return d, d.GetSchedules()[0], nil
	}
	if sched := schedules.Find(d, create.GetScheduleId()); sched != nil {
		return d, sched, nil
	}
	return nil, nil, rpc.Detail(http.StatusNotFound, "Schedule not found.")
}

// count returns the number of times of a schedule in the range of a backfill. Its work does not depend on the length of the range.
func count(times schedule.Schedule, b *orchv1.Backfill) (int64, error) {
	n := int64(0)
	start, end := b.GetStartTime().AsTime(), b.GetEndTime().AsTime()
	for at, err := range times.Times(start) {
		if err != nil || at.After(end) { // A schedule ends where its times are too sparse.
			break
		}
		if n++; n > maxRuns {
			return 0, invalid("end_time", fmt.Sprintf("the schedule has more than %d times in the range: the last of the first %d is %s",
				maxRuns, n, at.UTC().Format(time.RFC3339)))
		}
	}
	if n == 0 {
		return 0, invalid("start_time", "the schedule has no times in the range")
	}
	return n, nil
}

// checkNumber refuses another backfill where the workspace has too many.
func (s *Service) checkNumber(ctx context.Context, ws uuid.UUID) error {
	for _, bound := range []struct {
		filter bson.D
		most   int64
		text   string
	}{
		{bson.D{{Key: "open", Value: true}}, maxOpen, "The workspace has %d backfills that have not ended."},
		{nil, maxStored, "The workspace has %d backfills. Delete some that have ended."},
	} {
		n, err := s.backfills.Count(ctx, ws, store.Query{Filter: bound.filter, Limit: bound.most})
		if err != nil {
			return err
		}
		if n >= bound.most {
			return rpc.Detail(http.StatusConflict, fmt.Sprintf(bound.text, n))
		}
	}
	return nil
}

func invalid(field, text string) error {
	return rpc.Invalid(rpc.BodyError("value_error", "Value error, "+text, field))
}
