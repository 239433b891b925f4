package blocks

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// CreateBlockSchema stores a schema and the missing schemas of its nested blocks: 201. It returns an existing schema of
// that checksum and version instead: 200.
func (s *Service) CreateBlockSchema(ctx context.Context, r *orchv1.CreateBlockSchemaRequest) (*orchv1.BlockSchema, error) {
	create := r.GetBlockSchema()
	ws, typeID, err := s.locate(ctx, create.GetBlockTypeId())
	if err != nil {
		return nil, noType.Translate(err)
	}
	blockType, err := s.types.Get(ctx, ws, typeID)
	if err != nil {
		return nil, crud.NotFound(fmt.Sprintf("Block type %s not found.", create.GetBlockTypeId())).Translate(err)
	}
	fields, err := jsontree.ParseObject(create.GetFields())
	if err != nil {
		return nil, fmt.Errorf("create a block schema: %w", err)
	}
	schema := &orchv1.BlockSchema{
		Id: s.schemas.Store().NewID().String(), BlockTypeId: proto.String(blockType.GetId()),
		Capabilities: create.GetCapabilities(), Version: create.GetVersion(),
	}
	schema, created, err := s.register(ctx, ws, schema, fields, 0)
	if err != nil {
		return nil, err
	}
	if !created {
		if err := rpc.SetStatus(ctx, http.StatusOK); err != nil {
			return nil, err
		}
	}
	return schema, s.presentSchemas(ctx, ws, schema)
}

// register stores a schema with the given fields, or returns the existing one of its checksum and version. depth is its
// nesting depth in the requested schema.
func (s *Service) register(
	ctx context.Context, ws uuid.UUID, schema *orchv1.BlockSchema, fields *jsontree.Object, depth int,
) (_ *orchv1.BlockSchema, created bool, err error) {
	schema.Checksum = Checksum(fields)
	for range 2 {
		existing, err := s.schemas.First(ctx, ws, bson.D{
			{Key: "checksum", Value: schema.GetChecksum()}, {Key: "version", Value: schema.GetVersion()},
		})
		if !errors.Is(err, store.ErrNotFound) {
			return existing, false, err
		}
		if err := s.registerNested(ctx, ws, fields, depth); err != nil {
			return nil, false, err
		}
		schema.Fields = jsontree.Text(fields)
		err = s.schemas.Insert(ctx, ws, schema)
		if !errors.Is(err, store.ErrDuplicate) {
			return schema, true, err
		}
		// A concurrent call stored it between the read and the insert.
	}
	return nil, false, fmt.Errorf("create a block schema: %w", store.ErrContention)
}
