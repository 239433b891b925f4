package flowruns

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// monitoredFields are the fields that the visits of EachExecuting and EachPending need.
var monitoredFields = []string{
	"_id", "ws", "state.id", "state.type", "state.timestamp", "deployment_id", "work_pool_name", "work_queue_name", "empirical_policy.retry_type",
}

// EachExecuting calls visit with the runs of all workspaces that a process should execute now: running ones, and runs that wait in
// their process for a retry.
func (s *Service) EachExecuting(ctx context.Context, visit func(ws uuid.UUID, run *orchv1.FlowRun)) error {
	err := s.runs.EachAcross(ctx, store.Query{
		Filter: bson.D{{Key: "state.type", Value: rules.StateName(orchv1.StateType_STATE_TYPE_RUNNING)}},
		Sort:   bson.D{{Key: "state.timestamp", Value: 1}, {Key: "_id", Value: 1}}, Fields: monitoredFields,
	}, visiting(visit))
	if err != nil {
		return err
	}
	return s.runs.EachAcross(ctx, store.Query{
		Filter: bson.D{
			{Key: "state.name", Value: nameAwaitingRetry},
			{Key: "next_scheduled_start_time", Value: bson.D{{Key: "$gt", Value: int64(0)}}},
		},
		Sort: bson.D{{Key: "next_scheduled_start_time", Value: 1}}, Fields: monitoredFields,
	}, func(ws uuid.UUID, run *orchv1.FlowRun) error {
		if run.GetEmpiricalPolicy().GetRetryType() == orchv1.RetryType_RETRY_TYPE_IN_PROCESS {
			visit(ws, run)
		}
		return nil
	})
}

// EachPending calls visit with the pending runs of all workspaces.
func (s *Service) EachPending(ctx context.Context, visit func(ws uuid.UUID, run *orchv1.FlowRun)) error {
	return s.runs.EachAcross(ctx, store.Query{
		Filter: bson.D{{Key: "state.type", Value: rules.StateName(orchv1.StateType_STATE_TYPE_PENDING)}},
		Sort:   bson.D{{Key: "state.timestamp", Value: 1}, {Key: "_id", Value: 1}}, Fields: monitoredFields,
	}, visiting(visit))
}

// visiting is a visitor of a scan that never ends it.
func visiting(visit func(ws uuid.UUID, run *orchv1.FlowRun)) func(uuid.UUID, *orchv1.FlowRun) error {
	return func(ws uuid.UUID, run *orchv1.FlowRun) error {
		visit(ws, run)
		return nil
	}
}
