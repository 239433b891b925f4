package blocks

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// InstallSystemBlockTypes creates the server's missing block types and resets the presentation of existing ones.
func (s *Service) InstallSystemBlockTypes(ctx context.Context, _ *emptypb.Empty) (*emptypb.Empty, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.install(ctx, info.Workspace, true); err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}

// in returns the workspace of a call. The first call of a workspace installs the server's block types there.
func (s *Service) in(ctx context.Context) (uuid.UUID, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return uuid.Nil, err
	}
	return info.Workspace, s.ensure(ctx, info.Workspace)
}

// locate is in for a call about a resource with an id.
func (s *Service) locate(ctx context.Context, id string) (ws, parsed uuid.UUID, err error) {
	if ws, parsed, err = resourceid.FromRequest(ctx, id); err != nil {
		return uuid.Nil, uuid.Nil, err
	}
	return ws, parsed, s.ensure(ctx, ws)
}

func (s *Service) ensure(ctx context.Context, ws uuid.UUID) error {
	if _, done := s.installed.Load(ws); done {
		return nil
	}
	if err := s.install(ctx, ws, false); err != nil {
		return err
	}
	s.installed.Store(ws, true)
	return nil
}

// install creates the types and schemas that a workspace lacks, without events. Under concurrency one call wins each
// insert, because the keys are unique.
func (s *Service) install(ctx context.Context, ws uuid.UUID, restore bool) error {
	for _, t := range systemTypes() {
		if err := s.installType(ctx, ws, t, restore); err != nil {
			return fmt.Errorf("install the block type %s: %w", t.Slug, err)
		}
	}
	return nil
}

func (s *Service) installType(ctx context.Context, ws uuid.UUID, t systemType, restore bool) error {
	blockType, err := s.typeBySlug(ctx, ws, t.Slug)
	if errors.Is(err, store.ErrNotFound) {
		blockType = &orchv1.BlockType{
			Id: s.types.Store().NewID().String(), Name: t.Name, Slug: t.Slug, Description: proto.String(t.Description), IsProtected: t.IsProtected,
		}
		if err = s.types.Insert(ctx, ws, blockType); errors.Is(err, store.ErrDuplicate) {
			blockType, err = s.typeBySlug(ctx, ws, t.Slug)
		}
	}
	if err != nil {
		return err
	}
	if restore {
		if err := s.restoreType(ctx, ws, blockType, t); err != nil {
			return err
		}
	}
	_, err = s.schemas.First(ctx, ws, bson.D{{Key: "checksum", Value: t.checksum}, {Key: "version", Value: systemVersion}})
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	err = s.schemas.Insert(ctx, ws, &orchv1.BlockSchema{
		Id: s.schemas.Store().NewID().String(), Checksum: t.checksum, Fields: t.Fields, BlockTypeId: proto.String(blockType.GetId()),
		Capabilities: t.Capabilities, Version: systemVersion,
	})
	if errors.Is(err, store.ErrDuplicate) {
		return nil
	}
	return err
}

// restoreType resets the presentation of a type.
func (s *Service) restoreType(ctx context.Context, ws uuid.UUID, blockType *orchv1.BlockType, t systemType) error {
	id, err := resourceid.Parse(blockType.GetId())
	if err != nil {
		return err
	}
	return s.changeType(ctx, ws, id, func(next *orchv1.BlockType) error {
		next.Name, next.Description, next.IsProtected = t.Name, proto.String(t.Description), t.IsProtected
		next.LogoUrl, next.DocumentationUrl, next.CodeExample = nil, nil, nil
		return nil
	})
}
