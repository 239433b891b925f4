package logs

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// kindDeleteOfFlowRun is the effect that deletes the logs of a deleted flow run.
const kindDeleteOfFlowRun = "logs_delete"

// DeleteOfFlowRun is the effect that deletes the logs of a flow run.
func DeleteOfFlowRun(db *store.Store, ws, flowRun uuid.UUID) store.Effect {
	return db.ResourceEffect(kindDeleteOfFlowRun, ws, flowRun)
}

// DeleteOfFlowRuns deletes the logs of deleted flow runs.
func (s *Service) DeleteOfFlowRuns(ctx context.Context, effects []store.Effect) error {
	return store.EachWorkspace(effects, func(ws uuid.UUID, flowRuns []uuid.UUID) error {
		return s.logs.DeleteMany(ctx, ws, bson.D{{Key: "flow_run_id", Value: store.OneOf(flowRuns)}})
	})
}

// CountExpired counts expired logs by their timestamps, up to a limit.
func (s *Service) CountExpired(ctx context.Context, ws uuid.UUID, e store.Expired, limit int64) (int64, error) {
	return s.logs.Count(ctx, ws, store.Query{Filter: e.Filter("timestamp"), Limit: limit})
}

// DeleteExpired deletes the oldest expired logs, at most limit.
func (s *Service) DeleteExpired(ctx context.Context, ws uuid.UUID, e store.Expired, limit int64) (store.Expiry, error) {
	return store.DeleteOldest(ctx, s.logs, ws, e.Filter("timestamp"), "timestamp", limit)
}
