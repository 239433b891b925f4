package artifacts

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/call"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReplaceArtifact makes an artifact of that id what was asked for, or creates it: 200 or 201.
func (s *Service) ReplaceArtifact(ctx context.Context, r *orchv1.ReplaceArtifactRequest) (*orchv1.Artifact, error) {
	ws, id, err := call.Locate(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	asked := newArtifact(id, r.GetArtifact())
	artifact, err := s.artifacts.Mutate(ctx, ws, id, func(current *orchv1.Artifact, _ int64) (*store.Change[*orchv1.Artifact], error) {
		next := proto.Clone(asked).(*orchv1.Artifact)
		next.Created, next.Updated = current.Created, current.Updated
		return s.change(ws, current, next)
	})
	if errors.Is(err, store.ErrNotFound) {
		// Another call may create it between the look and the insert; then that one wins, and this one is a conflict.
		return s.insert(ctx, ws, id, r.GetArtifact())
	}
	if err != nil {
		return nil, err
	}
	s.spread(ctx, id)
	return artifact, nil
}
