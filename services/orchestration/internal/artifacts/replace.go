package artifacts

import (
	"context"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
)

// ReplaceArtifact replaces the artifact of an id, or creates it: 200 or 201.
func (s *Service) ReplaceArtifact(ctx context.Context, r *orchv1.ReplaceArtifactRequest) (*orchv1.Artifact, error) {
	return crud.Replacement[*orchv1.Artifact]{
		NotFound: notFound,
		Build:    func(id uuid.UUID) (*orchv1.Artifact, error) { return newArtifact(id, r.GetArtifact()) },
		Change:   s.change,
		Insert:   s.insert,
	}.Put(ctx, r.GetId())
}
