package blocks

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReadBlockDocument returns a document by its id.
func (s *Service) ReadBlockDocument(ctx context.Context, r *orchv1.ReadBlockDocumentRequest) (*orchv1.BlockDocument, error) {
	ws, id, err := s.locate(ctx, r.GetId())
	if err != nil {
		return nil, noDocument.Translate(err)
	}
	document, err := s.documents.Get(ctx, ws, id)
	if err != nil {
		return nil, noDocument.Translate(err)
	}
	return document, s.present(ctx, ws, r.GetIncludeSecrets(), document)
}

// ReadBlockDocumentByName returns the document of that name of a type.
func (s *Service) ReadBlockDocumentByName(ctx context.Context, r *orchv1.ReadBlockDocumentByNameRequest) (*orchv1.BlockDocument, error) {
	ws, err := s.in(ctx)
	if err != nil {
		return nil, err
	}
	filter, err := s.ofType(ctx, ws, r.GetSlug())
	if err != nil {
		return nil, noDocument.Translate(err)
	}
	document, err := s.documents.First(ctx, ws, append(filter, bson.E{Key: "name", Value: r.GetBlockDocumentName()}))
	if err != nil {
		return nil, noDocument.Translate(err)
	}
	return document, s.present(ctx, ws, r.GetIncludeSecrets(), document)
}

// ReadBlockDocumentsOfType returns the documents of a type that are not anonymous, ordered by name.
func (s *Service) ReadBlockDocumentsOfType(ctx context.Context, r *orchv1.ReadBlockDocumentsOfTypeRequest) (*orchv1.BlockDocumentList, error) {
	ws, err := s.in(ctx)
	if err != nil {
		return nil, err
	}
	filter, err := s.ofType(ctx, ws, r.GetSlug())
	if err != nil {
		return nil, noType.Translate(err)
	}
	found, err := s.documents.Find(ctx, ws, store.Query{Filter: append(filter, bson.E{Key: "is_anonymous", Value: false}), Sort: bson.D{{Key: "name", Value: 1}}, Bytes: store.MaxAnswerBytes})
	if err != nil {
		return nil, err
	}
	return &orchv1.BlockDocumentList{BlockDocuments: found}, s.present(ctx, ws, r.GetIncludeSecrets(), found...)
}

// ofType matches the documents of a type.
func (s *Service) ofType(ctx context.Context, ws uuid.UUID, slug string) (bson.D, error) {
	blockType, err := s.typeBySlug(ctx, ws, slug)
	if err != nil {
		return nil, err
	}
	id, err := uuid.Parse(blockType.GetId())
	return bson.D{{Key: "block_type_id", Value: store.Binary(id)}}, err
}

// ReadBlockDocuments returns the documents that match filters on themselves, their types and their schemas.
func (s *Service) ReadBlockDocuments(ctx context.Context, r *orchv1.ReadBlockDocumentsRequest) (*orchv1.BlockDocumentList, error) {
	ws, err := s.in(ctx)
	if err != nil {
		return nil, err
	}
	q := proto.CloneOf(r.GetQuery())
	if q.GetBlockDocuments() == nil {
		if q == nil {
			q = &orchv1.BlockDocumentQuery{}
		}
		q.BlockDocuments = named
	}
	found, err := s.documentSource.List(ctx, q, q.GetSort(), q)
	if err != nil {
		return nil, err
	}
	return &orchv1.BlockDocumentList{BlockDocuments: found}, s.present(ctx, ws, q.GetIncludeSecrets(), found...)
}

// CountBlockDocuments counts the documents that match.
func (s *Service) CountBlockDocuments(ctx context.Context, r *orchv1.CountBlockDocumentsRequest) (*orchv1.CountResponse, error) {
	q := proto.CloneOf(r.GetQuery())
	if q.GetBlockDocuments() == nil {
		if q == nil {
			q = &orchv1.BlockDocumentCountQuery{}
		}
		q.BlockDocuments = named
	}
	return s.documentSource.Count(ctx, q)
}

// named excludes anonymous documents, the default of queries without a document filter.
var named = &orchv1.BlockDocumentFilter{
	Operator: orchv1.Operator_OPERATOR_AND, IsAnonymous: &orchv1.BoolFilter{Eq_: proto.Bool(false)},
}

// Capabilities returns a document's capabilities from its schema. The error matches store.ErrNotFound for an unknown
// id.
func (s *Service) Capabilities(ctx context.Context, ws, id uuid.UUID) ([]string, error) {
	document, err := s.documents.Get(ctx, ws, id)
	if err != nil {
		return nil, err
	}
	_, schemaID, err := documentIDs(document)
	if err != nil {
		return nil, err
	}
	schema, err := s.schemas.Get(ctx, ws, schemaID)
	return schema.GetCapabilities(), err
}

// Data returns the data of a document without its secrets, and whether there is one of that id.
func (s *Service) Data(ctx context.Context, ws, id uuid.UUID) (data json.RawMessage, there bool, err error) {
	document, err := s.documents.Get(ctx, ws, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	err = s.present(ctx, ws, false, document)
	return document.GetData(), err == nil, err
}

// Has reports whether a document of that id exists.
func (s *Service) Has(ctx context.Context, ws, id uuid.UUID) (bool, error) {
	_, err := s.documents.Get(ctx, ws, id)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
