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
func DeleteOfFlowRun(of *store.Store, ws, flowRun uuid.UUID) store.Effect {
	return of.About(kindDeleteOfFlowRun, ws, flowRun)
}

// DeleteOfFlowRuns deletes the logs of deleted flow runs.
func (s *Service) DeleteOfFlowRuns(ctx context.Context, effects []store.Effect) error {
	return store.EachSubject(effects, func(ws, flowRun uuid.UUID) error {
		return s.logs.DeleteMany(ctx, ws, bson.D{{Key: "flow_run_id", Value: store.Binary(flowRun)}})
	})
}
