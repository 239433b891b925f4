package flowruns

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// cancelledSince is how far back the clean-up looks for task runs of cancelled runs, because clients may report task runs after
// the cancellation.
const cancelledSince = time.Hour

// CleanUpCancellations ends what cancellations left behind: runs that do not stop, subflows of cancelled runs, and
// their task runs.
func (s *Service) CleanUpCancellations(ctx context.Context) (changed int, err error) {
	ended, err := s.endCancellations(ctx)
	cancelled, failed := s.cancelSubflows(ctx)
	return ended + cancelled, errors.Join(err, failed, s.tellCancelled(ctx))
}

// endCancellations cancels the runs that have been stopping for too long. Infrastructure that they left running is a job for the workers of
// their pool.
func (s *Service) endCancellations(ctx context.Context) (int, error) {
	before := s.runs.Store().Now().Add(-s.cancellingTimeout)
	return s.cancellations.pass(ctx, s, bson.D{
		{Key: "state.type", Value: rules.StateName(orchv1.StateType_STATE_TYPE_CANCELLING)},
		{Key: "state.timestamp", Value: bson.D{{Key: "$lt", Value: before.UnixMicro()}}},
	}, func(ws uuid.UUID) proposal {
		return func(current *orchv1.FlowRun) (*orchv1.StateCreate, []store.Effect, error) {
			state := current.GetState()
			if state.GetType() != orchv1.StateType_STATE_TYPE_CANCELLING || !state.GetTimestamp().AsTime().Before(before) {
				return nil, nil, nil
			}
			job, ok, err := s.cleanUp(ctx, ws, current, state.GetId(), s.runs.Store().Now())
			if err != nil {
				return nil, nil, err
			}
			var effects []store.Effect
			if ok {
				effects = append(effects, job)
			}
			return &orchv1.StateCreate{
				Type: orchv1.StateType_STATE_TYPE_CANCELLED, Message: new("The flow run did not stop in time and counts as cancelled."),
			}, effects, nil
		}
	})
}

// tellCancelled names the runs that were cancelled lately to who asked for them.
func (s *Service) tellCancelled(ctx context.Context) error {
	since := s.runs.Store().Now().Add(-cancelledSince).UnixMicro()
	pass := s.runs.Store().Pass(ctx, "cancel the task runs of cancelled runs")
	for {
		found, err := s.runs.FindAcross(ctx, store.Query{Filter: bson.D{
			{Key: "state.type", Value: rules.StateName(orchv1.StateType_STATE_TYPE_CANCELLED)},
			{Key: "state.timestamp", Value: bson.D{{Key: "$gte", Value: since}}},
		}, Sort: bson.D{{Key: "state.timestamp", Value: 1}}, Limit: sweepBatch})
		if err != nil {
			return err
		}
		byWorkspace := map[uuid.UUID][]uuid.UUID{}
		for _, one := range found {
			id, err := uuid.Parse(one.Message.GetId())
			if err == nil {
				byWorkspace[one.Workspace] = append(byWorkspace[one.Workspace], id)
			}
			if pass.Record(err, "workspace", one.Workspace, "flow_run_id", one.Message.GetId()) != nil {
				return pass.Err()
			}
		}
		for ws, runs := range byWorkspace {
			err := s.endTaskRuns(ctx, ws, runs, &orchv1.StateCreate{
				Type: orchv1.StateType_STATE_TYPE_CANCELLED, Message: new("The flow run of this task run was cancelled."),
			})
			if pass.Record(err, "workspace", ws) != nil {
				return pass.Err()
			}
		}
		if len(found) < sweepBatch {
			return pass.Err()
		}
		// Runs with the timestamp of the last one that did not fit come with the next batch. More than one batch of
		// equal timestamps is truncated.
		next := found[len(found)-1].Message.GetState().GetTimestamp().AsTime().UnixMicro()
		since = max(next, since+1)
	}
}
