package artifacts

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// DeleteArtifact deletes an artifact; the one before it becomes the latest of its key.
func (s *Service) DeleteArtifact(ctx context.Context, r *orchv1.DeleteArtifactRequest) (*emptypb.Empty, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	err = s.artifacts.Delete(ctx, ws, id, func(current *orchv1.Artifact) ([]store.Effect, error) {
		return s.effects(ctx, ws, nil, current, "deleted")
	})
	if err != nil {
		return nil, translate(err)
	}
	s.flush.Flush(ctx, query.Artifact, id)
	return &emptypb.Empty{}, nil
}
