package blocks

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// typeHappened returns the lifecycle event of a type, with its presentation.
func (s *Service) typeHappened(ws uuid.UUID, blockType *orchv1.BlockType, verb string) (store.Effect, error) {
	id, err := resourceid.Parse(blockType.GetId())
	if err != nil {
		return store.Effect{}, err
	}
	payload := &jsontree.Object{}
	for _, member := range []struct {
		key   string
		value *string
	}{
		{"name", &blockType.Name},
		{"slug", &blockType.Slug},
		{"logo_url", blockType.LogoUrl},
		{"documentation_url", blockType.DocumentationUrl},
		{"description", blockType.Description},
		{"code_example", blockType.CodeExample},
	} {
		if member.value == nil {
			payload.Set(member.key, nil)
		} else {
			payload.Set(member.key, *member.value)
		}
	}
	payload.Set("is_protected", blockType.GetIsProtected())
	db := s.types.Store()
	return events.Publish(ws, events.Lifecycle{
		ID: db.NewID(), Kind: "block-type", Verb: verb, Of: id, Name: blockType.GetName(), At: db.Now(), Payload: jsontree.Text(payload),
	}.Event(s.vocab))
}

// documentHappened returns the lifecycle event of a document with its non-secret texts. Anonymous documents have no
// events.
func (s *Service) documentHappened(ctx context.Context, ws uuid.UUID, document *orchv1.BlockDocument, verb string) ([]store.Effect, error) {
	if document.GetIsAnonymous() {
		return nil, nil
	}
	id, schemaID, err := documentIDs(document)
	if err != nil {
		return nil, err
	}
	schema, err := s.schemas.Get(ctx, ws, schemaID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	data, err := s.open(ws, document)
	if err != nil {
		return nil, err
	}
	payload, err := documentPayload(document, schema, data)
	if err != nil {
		return nil, err
	}
	db := s.documents.Store()
	event := events.Lifecycle{
		ID: db.NewID(), Kind: "block-document", Verb: verb, Of: id, Name: document.GetName(), At: db.Now(), Payload: payload,
	}.Event(s.vocab)
	event.Related = []*orchv1.RelatedResource{
		events.Related(s.vocab, "block-type", document.GetBlockTypeId(), "block-type", document.GetBlockTypeName()),
		events.Related(s.vocab, "block-schema", document.GetBlockSchemaId(), "block-schema", ""),
	}
	published, err := events.Publish(ws, event)
	return []store.Effect{published}, err
}

func documentIDs(document *orchv1.BlockDocument) (id, schema uuid.UUID, err error) {
	if id, err = resourceid.Parse(document.GetId()); err != nil {
		return uuid.Nil, uuid.Nil, err
	}
	schema, err = resourceid.Parse(document.GetBlockSchemaId())
	return id, schema, err
}

// documentPayload returns the payload of a document's event. Without a schema the secrets are unknown, so it omits the
// data.
func documentPayload(document *orchv1.BlockDocument, schema *orchv1.BlockSchema, data *jsontree.Object) ([]byte, error) {
	texts := &jsontree.Object{}
	payload := &jsontree.Object{}
	payload.Set("name", document.GetName())
	payload.Set("data", texts)
	if schema == nil {
		payload.Set("block_schema", nil)
		return jsontree.Text(payload), nil
	}
	hidden, err := hiddenFields(document, schema)
	if err != nil {
		return nil, err
	}
	shown := jsontree.Copy(data).(*jsontree.Object)
	redact(shown, parsePaths(hidden))
	for _, m := range data.Members() {
		text, ok := m.Value.(string)
		if seen, _ := shown.Get(m.Key); ok && seen == text {
			texts.Set(m.Key, text)
		}
	}
	blockType := &jsontree.Object{}
	blockType.Set("id", document.GetBlockTypeId())
	blockType.Set("name", document.GetBlockTypeName())
	capabilities := jsontree.List{}
	for _, capability := range schema.GetCapabilities() {
		capabilities = append(capabilities, capability)
	}
	described := &jsontree.Object{}
	described.Set("capabilities", capabilities)
	described.Set("block_type", blockType)
	payload.Set("block_schema", described)
	return jsontree.Text(payload), nil
}

// asJSON writes a message as the API does.
func asJSON(m *orchv1.BlockType) (jsontree.Value, error) {
	if m == nil {
		return nil, nil
	}
	text, err := restjson.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write a block type: %w", err)
	}
	return jsontree.Parse(string(text))
}
