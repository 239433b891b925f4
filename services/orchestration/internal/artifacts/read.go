package artifacts

import (
	"context"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReadArtifact returns an artifact by its id.
func (s *Service) ReadArtifact(ctx context.Context, r *orchv1.ReadArtifactRequest) (*orchv1.Artifact, error) {
	return crud.ByID(ctx, notFound, r.GetId(), s.artifacts.Get)
}

// ReadLatestArtifact returns the newest artifact of a key.
func (s *Service) ReadLatestArtifact(ctx context.Context, r *orchv1.ReadLatestArtifactRequest) (*orchv1.Artifact, error) {
	return crud.ByKey(ctx, notFound, r.GetKey(), func(ctx context.Context, ws uuid.UUID, key string) (*orchv1.Artifact, error) {
		artifact, err := s.newest(ctx, ws, key)
		if err == nil && artifact == nil {
			err = store.ErrNotFound
		}
		return artifact, err
	})
}
