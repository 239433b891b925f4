package blocks

import (
	"context"
	"net/http"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// The effects that delete the schemas and documents of a deleted type or schema.
const (
	kindOfType   = "blocks_delete_of_type"
	kindOfSchema = "blocks_delete_of_schema"
)

// Handlers returns the effect handlers of this package.
func (s *Service) Handlers() []outbox.Handler {
	return []outbox.Handler{
		{Kind: kindOfType, Run: func(ctx context.Context, effects []store.Effect) error {
			return store.EachResource(effects, func(ws, id uuid.UUID) error {
				filter := bson.D{{Key: "block_type_id", Value: store.Binary(id)}}
				if err := s.drainDocuments(ctx, ws, filter); err != nil {
					return err
				}
				return store.Drain(ctx, s.schemas, ws, filter, func(id uuid.UUID) error { return s.deleteSchema(ctx, ws, id) })
			})
		}},
		{Kind: kindOfSchema, Run: func(ctx context.Context, effects []store.Effect) error {
			return store.EachResource(effects, func(ws, id uuid.UUID) error {
				return s.drainDocuments(ctx, ws, bson.D{{Key: "block_schema_id", Value: store.Binary(id)}})
			})
		}},
	}
}

func (s *Service) drainDocuments(ctx context.Context, ws uuid.UUID, filter bson.D) error {
	return store.Drain(ctx, s.documents, ws, filter, func(id uuid.UUID) error { return s.deleteDocument(ctx, ws, id) })
}

// DeleteBlockType deletes a type with its schemas and documents. It refuses types that the server needs.
func (s *Service) DeleteBlockType(ctx context.Context, r *orchv1.DeleteBlockTypeRequest) (*emptypb.Empty, error) {
	ws, id, err := s.locate(ctx, r.GetId())
	if err != nil {
		return nil, noType.Translate(err)
	}
	err = s.types.Delete(ctx, ws, id, func(current *orchv1.BlockType) ([]store.Effect, error) {
		if current.GetIsProtected() {
			return nil, rpc.Detail(http.StatusForbidden, "protected block types cannot be deleted.")
		}
		deleted, err := s.typeHappened(ws, current, "deleted")
		return []store.Effect{s.types.Store().ResourceEffect(kindOfType, ws, id), deleted}, err
	})
	if err != nil {
		return nil, noType.Translate(err)
	}
	s.flush.Flush(ctx, query.BlockType, ws, id)
	return &emptypb.Empty{}, nil
}

// DeleteBlockSchema deletes a schema with its documents. It refuses schemas of types that the server needs.
func (s *Service) DeleteBlockSchema(ctx context.Context, r *orchv1.DeleteBlockSchemaRequest) (*emptypb.Empty, error) {
	ws, id, err := s.locate(ctx, r.GetId())
	if err != nil {
		return nil, noSchema.Translate(err)
	}
	schema, err := s.schemas.Get(ctx, ws, id)
	if err != nil {
		return nil, noSchema.Translate(err)
	}
	typeID, err := resourceid.Parse(schema.GetBlockTypeId())
	if err != nil {
		return nil, err
	}
	if blockType, err := s.types.Get(ctx, ws, typeID); err == nil && blockType.GetIsProtected() {
		return nil, rpc.Detail(http.StatusForbidden, "Block schemas for protected block types cannot be deleted.")
	}
	if err := s.deleteSchema(ctx, ws, id); err != nil {
		return nil, noSchema.Translate(err)
	}
	s.flush.Flush(ctx, query.BlockSchema, ws, id)
	return &emptypb.Empty{}, nil
}

func (s *Service) deleteSchema(ctx context.Context, ws, id uuid.UUID) error {
	return s.schemas.Delete(ctx, ws, id, func(*orchv1.BlockSchema) ([]store.Effect, error) {
		return []store.Effect{s.schemas.Store().ResourceEffect(kindOfSchema, ws, id)}, nil
	})
}

// DeleteBlockDocument deletes a document.
func (s *Service) DeleteBlockDocument(ctx context.Context, r *orchv1.DeleteBlockDocumentRequest) (*emptypb.Empty, error) {
	ws, id, err := s.locate(ctx, r.GetId())
	if err != nil {
		return nil, noDocument.Translate(err)
	}
	if err := s.deleteDocument(ctx, ws, id); err != nil {
		return nil, noDocument.Translate(err)
	}
	return &emptypb.Empty{}, nil
}

func (s *Service) deleteDocument(ctx context.Context, ws, id uuid.UUID) error {
	return s.documents.Delete(ctx, ws, id, func(current *orchv1.BlockDocument) ([]store.Effect, error) {
		return s.documentHappened(ctx, ws, current, "deleted")
	})
}
