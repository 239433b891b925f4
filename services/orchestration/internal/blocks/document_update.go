package blocks

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/jsontree"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// UpdateBlockDocument changes the data of a document, and its schema to another one of the same type. Absent fields
// stay, unless the request turns merging off.
func (s *Service) UpdateBlockDocument(ctx context.Context, r *orchv1.UpdateBlockDocumentRequest) (*emptypb.Empty, error) {
	ws, id, err := s.locate(ctx, r.GetId())
	if err != nil {
		return nil, noDocument.Translate(err)
	}
	u := update{asked: r.GetBlockDocument(), merge: true}
	for _, field := range r.GetUpdateMask().GetPaths() {
		switch field {
		case "merge_existing_data":
			u.merge = u.asked.GetMergeExistingData()
		case "data":
			u.withData = true
		}
	}
	u.withData = u.withData || !u.merge // Without merging the request replaces all data, possibly by nothing.
	_, err = s.documents.Mutate(ctx, ws, id, store.Edit(
		func(next *orchv1.BlockDocument) error { return s.edit(ctx, ws, next, u) },
		func(_, next *orchv1.BlockDocument) ([]store.Effect, error) {
			return s.documentHappened(ctx, ws, next, "updated")
		},
	))
	if err != nil {
		return nil, noDocument.Translate(err)
	}
	return &emptypb.Empty{}, nil
}

// update is a client's change.
type update struct {
	asked *orchv1.BlockDocumentUpdate
	// merge keeps absent fields; withData reports that the data changes at all.
	merge, withData bool
}

// edit applies an update to a document.
func (s *Service) edit(ctx context.Context, ws uuid.UUID, document *orchv1.BlockDocument, u update) error {
	stored := proto.CloneOf(document)
	if schema := u.asked.GetBlockSchemaId(); schema != "" && schema != stored.GetBlockSchemaId() {
		if err := s.checkSchema(ctx, ws, schema, stored.GetBlockTypeId()); err != nil {
			return err
		}
		document.BlockSchemaId = schema
	}
	if !u.withData {
		return nil
	}
	return s.changeData(ctx, ws, stored, document, u)
}

// changeData encrypts the updated data, unless it is unchanged.
func (s *Service) changeData(ctx context.Context, ws uuid.UUID, current, next *orchv1.BlockDocument, u update) error {
	before, err := s.open(ws, current)
	if err != nil {
		return err
	}
	sent, err := jsontree.ParseObject(u.asked.GetData())
	if err != nil {
		return fmt.Errorf("change a block document: %w", err)
	}
	shown, err := s.shown(ctx, ws, current, before)
	if err != nil {
		return err
	}
	restore(sent, shown, before)
	data := sent
	if u.merge {
		data = before.Clone()
		for _, m := range sent.Members() {
			data.Set(m.Key, m.Value)
		}
	}
	if jsontree.Equal(data, before) && s.keys.Current(current.GetSealedData()) {
		return nil
	}
	refers, err := references(data)
	if err != nil {
		return err
	}
	if !slices.Equal(ids(refers, func(r reference) string { return r.id.String() }), current.GetRefersTo()) {
		if err := s.checkReferences(ctx, ws, next, refers); err != nil {
			return err
		}
	}
	return s.seal(ws, next, data, refers)
}

// shown returns the data of a document as clients read it with its schema.
func (s *Service) shown(ctx context.Context, ws uuid.UUID, document *orchv1.BlockDocument, data *jsontree.Object) (*jsontree.Object, error) {
	schemaID, err := resourceid.Parse(document.GetBlockSchemaId())
	if err != nil {
		return nil, err
	}
	schema, err := s.schemas.Get(ctx, ws, schemaID)
	if err != nil {
		return nil, err
	}
	secret, err := secretPaths(schema)
	if err != nil {
		return nil, err
	}
	redacted := jsontree.Copy(data).(*jsontree.Object)
	redact(redacted, secret)
	return redacted, nil
}
