package flowruns

import (
	"context"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// expiryFields are the fields of a run that its expiry needs.
var expiryFields = []string{"end_time", "state.state_details.deployment_concurrency_lease_id"}

// CountExpired counts expired runs by their end, up to a limit.
func (s *Service) CountExpired(ctx context.Context, ws uuid.UUID, e store.Expired, limit int64) (int64, error) {
	return s.runs.CountUpTo(ctx, ws, e.Filter("end_time"), limit)
}

// DeleteExpired deletes the expired runs that ended first, at most limit, with what belongs to them. It publishes no
// events. A run that changes meanwhile stays.
func (s *Service) DeleteExpired(ctx context.Context, ws uuid.UUID, e store.Expired, limit int64) (store.Expiry, error) {
	found, err := s.runs.Oldest(ctx, ws, e.Filter("end_time"), "end_time", expiryFields, limit)
	if err != nil {
		return store.Expiry{}, err
	}
	boxes, err := s.runs.DeleteVersions(ctx, ws, found, func(run *orchv1.FlowRun) []store.Effect {
		id, err := resourceid.Parse(run.GetId())
		if err != nil {
			return nil
		}
		return s.dependents(ws, id, run)
	})
	if err != nil {
		return store.Expiry{}, err
	}
	expiry := store.Expiry{Deleted: int64(len(boxes)), More: int64(len(found)) == limit, Reached: e.Before}
	if expiry.More {
		expiry.Reached = found[len(found)-1].Message.GetEndTime().AsTime()
	}
	return expiry, s.flush.ExecuteAll(ctx, query.FlowRun, boxes)
}
