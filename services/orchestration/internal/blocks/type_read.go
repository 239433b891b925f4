package blocks

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// ReadBlockType returns a type by its id.
func (s *Service) ReadBlockType(ctx context.Context, r *orchv1.ReadBlockTypeRequest) (*orchv1.BlockType, error) {
	ws, id, err := s.locate(ctx, r.GetId())
	if err != nil {
		return nil, noType.Translate(err)
	}
	blockType, err := s.types.Get(ctx, ws, id)
	return blockType, noType.Translate(err)
}

// ReadBlockTypeBySlug returns a type by its slug.
func (s *Service) ReadBlockTypeBySlug(ctx context.Context, r *orchv1.ReadBlockTypeBySlugRequest) (*orchv1.BlockType, error) {
	ws, err := s.in(ctx)
	if err != nil {
		return nil, err
	}
	blockType, err := s.typeBySlug(ctx, ws, r.GetSlug())
	return blockType, noType.Translate(err)
}

// ReadBlockTypes returns the types that match, ordered by name.
func (s *Service) ReadBlockTypes(ctx context.Context, r *orchv1.ReadBlockTypesRequest) (*orchv1.BlockTypeList, error) {
	if _, err := s.in(ctx); err != nil {
		return nil, err
	}
	q := r.GetQuery()
	found, err := s.typeSource.List(ctx, q, nil, q)
	return &orchv1.BlockTypeList{BlockTypes: found}, err
}

func (s *Service) typeBySlug(ctx context.Context, ws uuid.UUID, slug string) (*orchv1.BlockType, error) {
	return s.types.First(ctx, ws, bson.D{{Key: "slug", Value: slug}})
}
