package blocks

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/quota"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/crud"
	"github.com/orch-project/orch/services/orchestration/internal/naming"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// CreateBlockDocument stores a document. It refuses a duplicate name within a type. The response obfuscates secrets.
func (s *Service) CreateBlockDocument(ctx context.Context, r *orchv1.CreateBlockDocumentRequest) (*orchv1.BlockDocument, error) {
	ws, err := s.in(ctx)
	if err != nil {
		return nil, err
	}
	create := r.GetBlockDocument()
	if create.GetName() == "" && !create.GetIsAnonymous() {
		return nil, rpc.Invalid(rpc.BodyError("value_error", "Value error, Names must be provided for block documents."))
	}
	if err := naming.Dashed(create.GetName(), "Block document name", "name"); err != nil {
		return nil, err
	}
	blockType, schema, err := s.typeOf(ctx, ws, create)
	if err != nil {
		return nil, err
	}
	data, err := jsontree.ParseObject(create.GetData())
	if err != nil {
		return nil, fmt.Errorf("create a block document: %w", err)
	}
	refers, err := references(data)
	if err != nil {
		return nil, err
	}
	document := &orchv1.BlockDocument{
		Id: s.documents.Store().NewID().String(), Name: create.Name, BlockSchemaId: create.GetBlockSchemaId(), BlockTypeId: blockType.GetId(),
		BlockTypeName: proto.String(blockType.GetName()), IsAnonymous: create.GetIsAnonymous(),
	}
	if document.SecretFields, err = secretFields(schema); err != nil {
		return nil, err
	}
	if create.GetName() == "" {
		document.Name = proto.String("anonymous-" + uuid.NewString())
	}
	if err := s.checkReferences(ctx, ws, document, refers); err != nil {
		return nil, err
	}
	if err := s.seal(ws, document, data, refers); err != nil {
		return nil, err
	}
	created, err := s.documentHappened(ctx, ws, document, "created")
	if err != nil {
		return nil, err
	}
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	end, err := s.quotas.Begin(ctx, info.Account, quota.Blocks)
	if err != nil {
		return nil, err
	}
	defer end()
	err = s.documents.Insert(ctx, ws, document, created...)
	if errors.Is(err, store.ErrDuplicate) {
		return nil, rpc.Detail(http.StatusConflict, "Block already exists")
	}
	if err != nil {
		return nil, err
	}
	return document, s.present(ctx, ws, false, document)
}

// typeOf reads the type of a new document and the schema, which must belong to it.
func (s *Service) typeOf(
	ctx context.Context, ws uuid.UUID, create *orchv1.BlockDocumentCreate,
) (*orchv1.BlockType, *orchv1.BlockSchema, error) {
	typeID, err := resourceid.Parse(create.GetBlockTypeId())
	if err != nil {
		return nil, nil, err
	}
	blockType, err := s.types.Get(ctx, ws, typeID)
	if err != nil {
		return nil, nil, crud.NotFound(fmt.Sprintf("Block type %s not found.", create.GetBlockTypeId())).Translate(err)
	}
	schema, err := s.schemaOf(ctx, ws, create.GetBlockSchemaId(), blockType.GetId())
	return blockType, schema, err
}

// schemaOf reads a schema. It refuses an unknown one and one of another type.
func (s *Service) schemaOf(ctx context.Context, ws uuid.UUID, schema, blockType string) (*orchv1.BlockSchema, error) {
	id, err := resourceid.Parse(schema)
	if err != nil {
		return nil, err
	}
	found, err := s.schemas.Get(ctx, ws, id)
	if err != nil {
		return nil, crud.NotFound(fmt.Sprintf("Block schema %s not found.", schema)).Translate(err)
	}
	if found.GetBlockTypeId() != blockType {
		return nil, rpc.Detail(http.StatusBadRequest, fmt.Sprintf("Block schema %s is not one of block type %s.", schema, blockType))
	}
	return found, nil
}
