package artifacts

import (
	"context"
	"errors"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/namecheck"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReplaceArtifact replaces the artifact of an id, or creates it: 200 or 201.
func (s *Service) ReplaceArtifact(ctx context.Context, r *orchv1.ReplaceArtifactRequest) (*orchv1.Artifact, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	if err := namecheck.Dashed(r.GetArtifact().GetKey(), "Artifact key", "key"); err != nil {
		return nil, err
	}
	artifact, err := s.change(ctx, ws, id, store.Become(newArtifact(id, r.GetArtifact())))
	if errors.Is(err, store.ErrNotFound) {
		// A concurrent creation wins, and this call returns a conflict.
		return s.insert(ctx, ws, id, r.GetArtifact())
	}
	return artifact, err
}
