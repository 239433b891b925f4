package blocks

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/sync/errgroup"
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

// installers bounds the concurrent writes of an installation.
const installers = 16

// present lists the server's types and schemas that a workspace has.
type present struct {
	types   map[string]*orchv1.BlockType // By slug.
	schemas map[[2]string]bool           // By checksum and version.
}

// install creates the types and schemas that a workspace lacks, without events. Under concurrency one call wins each
// insert, because the keys are unique.
func (s *Service) install(ctx context.Context, ws uuid.UUID, restore bool) error {
	found, err := s.found(ctx, ws)
	if err != nil {
		return fmt.Errorf("install block types: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(installers)
	for _, t := range systemTypes() {
		group.Go(func() error {
			if err := s.installType(ctx, ws, t, found, restore); err != nil {
				return fmt.Errorf("install the block type %s: %w", t.Slug, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// found reads which of the server's types and schemas a workspace has.
func (s *Service) found(ctx context.Context, ws uuid.UUID) (present, error) {
	f := present{types: map[string]*orchv1.BlockType{}, schemas: map[[2]string]bool{}}
	var slugs, checksums bson.A
	for _, t := range systemTypes() {
		slugs = append(slugs, t.Slug)
		for _, schema := range t.Schemas {
			checksums = append(checksums, schema.Checksum)
		}
	}
	types, err := s.types.Find(ctx, ws, store.Query{Filter: bson.D{{Key: "slug", Value: bson.D{{Key: "$in", Value: slugs}}}}})
	if err != nil {
		return f, err
	}
	for _, t := range types {
		f.types[t.GetSlug()] = t
	}
	schemas, err := s.schemas.Find(ctx, ws, store.Query{Filter: bson.D{{Key: "checksum", Value: bson.D{{Key: "$in", Value: checksums}}}}})
	if err != nil {
		return f, err
	}
	for _, schema := range schemas {
		f.schemas[[2]string{schema.GetChecksum(), schema.GetVersion()}] = true
	}
	return f, nil
}

func (s *Service) installType(ctx context.Context, ws uuid.UUID, t systemType, found present, restore bool) error {
	blockType := found.types[t.Slug]
	if blockType == nil {
		blockType = &orchv1.BlockType{
			Id: s.types.Store().NewID().String(), Name: t.Name, Slug: t.Slug, Description: &t.Description, DocumentationUrl: t.DocumentationURL,
			IsProtected: t.IsProtected,
		}
		err := s.types.Insert(ctx, ws, blockType)
		if errors.Is(err, store.ErrDuplicate) {
			blockType, err = s.typeBySlug(ctx, ws, t.Slug)
		}
		if err != nil {
			return err
		}
	}
	if restore {
		if err := s.restoreType(ctx, ws, blockType, t); err != nil {
			return err
		}
	}
	for _, schema := range t.Schemas {
		if found.schemas[[2]string{schema.Checksum, schema.Version}] {
			continue
		}
		err := s.schemas.Insert(ctx, ws, &orchv1.BlockSchema{
			Id: s.schemas.Store().NewID().String(), Checksum: schema.Checksum, Fields: schema.Fields, BlockTypeId: &blockType.Id,
			Capabilities: schema.Capabilities, Version: schema.Version,
		})
		if err != nil && !errors.Is(err, store.ErrDuplicate) {
			return err
		}
	}
	return nil
}

// restoreType resets the presentation of a type.
func (s *Service) restoreType(ctx context.Context, ws uuid.UUID, blockType *orchv1.BlockType, t systemType) error {
	id, err := resourceid.Parse(blockType.GetId())
	if err != nil {
		return err
	}
	return s.changeType(ctx, ws, id, func(next *orchv1.BlockType) error {
		next.Name, next.Description, next.IsProtected = t.Name, proto.String(t.Description), t.IsProtected
		next.LogoUrl, next.DocumentationUrl, next.CodeExample = nil, t.DocumentationURL, nil
		return nil
	})
}
