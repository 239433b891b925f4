package artifacts

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// DeleteArtifact deletes an artifact; the one before it becomes the latest of its key.
func (s *Service) DeleteArtifact(ctx context.Context, r *orchv1.DeleteArtifactRequest) (*emptypb.Empty, error) {
	return crud.Delete(ctx, notFound, r.GetId(), func(ctx context.Context, ws, id uuid.UUID) error {
		if err := s.delete(ctx, ws, id); err != nil {
			return err
		}
		s.flush.Flush(ctx, query.Artifact, ws, id)
		return nil
	})
}

// delete deletes an artifact and leaves its effects to the relay.
func (s *Service) delete(ctx context.Context, ws, id uuid.UUID) error {
	return s.artifacts.Delete(ctx, ws, id, func(current *orchv1.Artifact) ([]store.Effect, error) {
		return s.effects(ctx, ws, nil, current, "deleted")
	})
}
