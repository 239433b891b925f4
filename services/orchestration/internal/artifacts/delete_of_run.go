package artifacts

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// KindDeleteOfFlowRun is the effect that deletes the artifacts of a deleted flow run.
const KindDeleteOfFlowRun = "artifacts_delete"

// DeleteOfFlowRun is the effect that deletes the artifacts of a flow run.
func DeleteOfFlowRun(db *store.Store, ws, run uuid.UUID) store.Effect {
	return db.ResourceEffect(KindDeleteOfFlowRun, ws, run)
}

// DeleteOfFlowRuns executes effects of KindDeleteOfFlowRun.
func (s *Service) DeleteOfFlowRuns(ctx context.Context, effects []store.Effect) error {
	return store.EachWorkspace(effects, func(ws uuid.UUID, runs []uuid.UUID) error {
		return store.Drain(ctx, s.artifacts, ws, bson.D{{Key: "flow_run_id", Value: store.OneOf(runs)}}, func(id uuid.UUID) error {
			return s.delete(ctx, ws, id)
		})
	})
}
