package blocks

import (
	"context"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// UpdateBlockType changes how a type is presented. This is allowed for the server's own too: clients say there what they
// know of a type.
func (s *Service) UpdateBlockType(ctx context.Context, r *orchv1.UpdateBlockTypeRequest) (*emptypb.Empty, error) {
	ws, id, err := s.locate(ctx, r.GetId())
	if err != nil {
		return nil, missing(err, noType)
	}
	update := r.GetBlockType()
	_, err = s.types.Mutate(ctx, ws, id, func(current *orchv1.BlockType, _ int64) (*store.Change[*orchv1.BlockType], error) {
		next := proto.Clone(current).(*orchv1.BlockType)
		for _, field := range r.GetUpdateMask().GetPaths() {
			switch field {
			case "logo_url":
				next.LogoUrl = update.LogoUrl
			case "documentation_url":
				next.DocumentationUrl = update.DocumentationUrl
			case "description":
				next.Description = update.Description
			case "code_example":
				next.CodeExample = update.CodeExample
			}
		}
		return s.changeType(ws, current, next)
	})
	if err != nil {
		return nil, missing(err, noType)
	}
	return &emptypb.Empty{}, nil
}

// changeType is what is to be written so that a type becomes another; nil when it is that already.
func (s *Service) changeType(ws uuid.UUID, current, next *orchv1.BlockType) (*store.Change[*orchv1.BlockType], error) {
	if proto.Equal(current, next) {
		return nil, nil
	}
	updated, err := s.typeHappened(ws, next, "updated")
	if err != nil {
		return nil, err
	}
	return &store.Change[*orchv1.BlockType]{Message: next, Effects: []store.Effect{updated}}, nil
}
