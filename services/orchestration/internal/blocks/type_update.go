package blocks

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/fieldmask"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// UpdateBlockType changes the presentation of a type, including the server's own types, because clients register what
// they know of a type there.
func (s *Service) UpdateBlockType(ctx context.Context, r *orchv1.UpdateBlockTypeRequest) (*emptypb.Empty, error) {
	ws, id, err := s.locate(ctx, r.GetId())
	if err != nil {
		return nil, noType.Translate(err)
	}
	err = s.changeType(ctx, ws, id, func(next *orchv1.BlockType) error {
		fieldmask.Apply(next, r.GetBlockType(), r.GetUpdateMask().GetPaths())
		return nil
	})
	if err != nil {
		return nil, noType.Translate(err)
	}
	return &emptypb.Empty{}, nil
}

// changeType edits a type and publishes the change.
func (s *Service) changeType(ctx context.Context, ws, id uuid.UUID, edit func(next *orchv1.BlockType) error) error {
	_, err := s.types.Mutate(ctx, ws, id, store.Edit(edit, func(_, next *orchv1.BlockType) ([]store.Effect, error) {
		updated, err := s.typeHappened(ws, next, "updated")
		return []store.Effect{updated}, err
	}))
	return err
}
