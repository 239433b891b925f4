package blocks

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/emptypb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReadBlockSchema returns a schema by its id.
func (s *Service) ReadBlockSchema(ctx context.Context, r *orchv1.ReadBlockSchemaRequest) (*orchv1.BlockSchema, error) {
	ws, id, err := s.locate(ctx, r.GetId())
	if err != nil {
		return nil, noSchema.Translate(err)
	}
	schema, err := s.schemas.Get(ctx, ws, id)
	if err != nil {
		return nil, noSchema.Translate(err)
	}
	return schema, s.presentSchemas(ctx, ws, schema)
}

// ReadBlockSchemaByChecksum returns the newest schema of a checksum, optionally of one version.
func (s *Service) ReadBlockSchemaByChecksum(ctx context.Context, r *orchv1.ReadBlockSchemaByChecksumRequest) (*orchv1.BlockSchema, error) {
	ws, err := s.in(ctx)
	if err != nil {
		return nil, err
	}
	filter := bson.D{{Key: "checksum", Value: r.GetChecksum()}}
	if r.Version != nil {
		filter = append(filter, bson.E{Key: "version", Value: r.GetVersion()})
	}
	found, err := s.schemas.Find(ctx, ws, store.Query{Filter: filter, Sort: newestFirst, Limit: 1})
	if err == nil && len(found) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, noSchema.Translate(err)
	}
	return found[0], s.presentSchemas(ctx, ws, found[0])
}

// ReadBlockSchemas returns the schemas that match, newest first.
func (s *Service) ReadBlockSchemas(ctx context.Context, r *orchv1.ReadBlockSchemasRequest) (*orchv1.BlockSchemaList, error) {
	ws, err := s.in(ctx)
	if err != nil {
		return nil, err
	}
	q := r.GetQuery()
	found, err := s.schemaSource.List(ctx, q, nil, q)
	if err != nil {
		return nil, err
	}
	return &orchv1.BlockSchemaList{BlockSchemas: found}, s.presentSchemas(ctx, ws, found...)
}

// maxCapabilities bounds the list of capabilities.
const maxCapabilities = 10_000

// ReadBlockCapabilities returns the capabilities of all schemas.
func (s *Service) ReadBlockCapabilities(ctx context.Context, _ *emptypb.Empty) (*orchv1.BlockCapabilities, error) {
	ws, err := s.in(ctx)
	if err != nil {
		return nil, err
	}
	found, err := s.schemas.Distinct(ctx, ws, "capabilities", nil)
	if err != nil {
		return nil, err
	}
	return &orchv1.BlockCapabilities{Capabilities: found[:min(len(found), maxCapabilities)]}, nil
}

// presentSchemas adds the types to schemas.
func (s *Service) presentSchemas(ctx context.Context, ws uuid.UUID, schemas ...*orchv1.BlockSchema) error {
	types, err := byID(ctx, s.types, ws, ids(schemas, func(schema *orchv1.BlockSchema) string { return schema.GetBlockTypeId() }))
	if err != nil {
		return err
	}
	for _, schema := range schemas {
		schema.BlockType = types[schema.GetBlockTypeId()]
	}
	return nil
}
