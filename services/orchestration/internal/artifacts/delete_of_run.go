package artifacts

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/call"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// KindDeleteOfFlowRun is the effect that deletes the artifacts of a deleted flow run.
const KindDeleteOfFlowRun = "artifacts_delete"

// DeleteOfFlowRun is the effect that deletes the artifacts of a flow run.
func DeleteOfFlowRun(of *store.Store, ws, run uuid.UUID) store.Effect {
	return store.Effect{
		ID: of.NewID(), At: of.Now(), Kind: KindDeleteOfFlowRun, Body: append(append([]byte(nil), ws[:]...), run[:]...),
	}
}

// DeleteOfFlowRuns carries out effects of KindDeleteOfFlowRun.
func (s *Service) DeleteOfFlowRuns(ctx context.Context, effects []store.Effect) error {
	for _, e := range effects {
		if len(e.Body) != 32 {
			return fmt.Errorf("read an effect: %d bytes are no two ids", len(e.Body))
		}
		if err := s.deleteOf(ctx, uuid.UUID(e.Body[:16]), uuid.UUID(e.Body[16:])); err != nil {
			return err
		}
	}
	return nil
}

// deleteBatch is how many artifacts are read at a time.
const deleteBatch = 100

func (s *Service) deleteOf(ctx context.Context, ws, run uuid.UUID) error {
	for {
		found, err := s.artifacts.Find(ctx, ws, bson.D{{Key: "flow_run_id", Value: store.Binary(run)}}, bson.D{{Key: "_id", Value: 1}}, 0, deleteBatch)
		if err != nil || len(found) == 0 {
			return err
		}
		for _, artifact := range found {
			id, err := call.ParseID(artifact.GetId())
			if err != nil {
				return err
			}
			err = s.artifacts.Delete(ctx, ws, id, func(current *orchv1.Artifact) ([]store.Effect, error) {
				return s.effects(ws, nil, current, "deleted")
			})
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
	}
}
