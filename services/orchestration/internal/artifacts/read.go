package artifacts

import (
	"context"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReadArtifact returns an artifact by its id.
func (s *Service) ReadArtifact(ctx context.Context, r *orchv1.ReadArtifactRequest) (*orchv1.Artifact, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	artifact, err := s.artifacts.Get(ctx, ws, id)
	return artifact, translate(err)
}

// ReadLatestArtifact returns the newest artifact of a key.
func (s *Service) ReadLatestArtifact(ctx context.Context, r *orchv1.ReadLatestArtifactRequest) (*orchv1.Artifact, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	artifact, err := s.newest(ctx, info.Workspace, r.GetKey())
	if err == nil && artifact == nil {
		err = store.ErrNotFound
	}
	return artifact, translate(err)
}
