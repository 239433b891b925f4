package artifacts

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/call"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// UpdateArtifact changes what was sent.
func (s *Service) UpdateArtifact(ctx context.Context, r *orchv1.UpdateArtifactRequest) (*emptypb.Empty, error) {
	ws, id, err := call.Locate(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	update := r.GetArtifact()
	_, err = s.artifacts.Mutate(ctx, ws, id, func(current *orchv1.Artifact, _ int64) (*store.Change[*orchv1.Artifact], error) {
		next := proto.Clone(current).(*orchv1.Artifact)
		for _, field := range r.GetUpdateMask().GetPaths() {
			switch field {
			case "data":
				next.Data = update.Data
			case "description":
				next.Description = update.Description
			case "metadata_":
				next.Metadata_ = update.GetMetadata_()
			}
		}
		return s.change(ws, current, next)
	})
	if err != nil {
		return nil, translate(err)
	}
	s.spread(ctx, id)
	return &emptypb.Empty{}, nil
}

// change is what is to be written so that an artifact becomes another; nil when it is that already.
func (s *Service) change(ws uuid.UUID, current, next *orchv1.Artifact) (*store.Change[*orchv1.Artifact], error) {
	if proto.Equal(current, next) {
		return nil, nil
	}
	effects, err := s.effects(ws, current, next, "updated")
	if err != nil {
		return nil, err
	}
	return &store.Change[*orchv1.Artifact]{Message: next, Effects: effects}, nil
}
