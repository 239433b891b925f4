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

// UpdateArtifact changes the fields that the request contains. A request without fields changes the time of the update, as in the
// reference.
func (s *Service) UpdateArtifact(ctx context.Context, r *orchv1.UpdateArtifactRequest) (*emptypb.Empty, error) {
	masked := crud.Masked[*orchv1.Artifact](r.GetArtifact(), r.GetUpdateMask())
	return crud.Update(ctx, notFound, r.GetId(), s.change, func(next *orchv1.Artifact) error {
		next.Updated = nil // The store sets it, because the artifact differs.
		return masked(next)
	})
}

// change edits an artifact and updates its key before the call returns.
func (s *Service) change(ctx context.Context, ws, id uuid.UUID, edit func(next *orchv1.Artifact) error) (*orchv1.Artifact, error) {
	changed, err := s.artifacts.Mutate(ctx, ws, id, store.Edit(edit, func(current, next *orchv1.Artifact) ([]store.Effect, error) {
		return s.effects(ctx, ws, current, next, "updated")
	}))
	if err != nil {
		return nil, err
	}
	s.flush.Flush(ctx, query.Artifact, ws, id)
	return changed, nil
}
