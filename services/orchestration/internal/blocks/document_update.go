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

// UpdateBlockDocument changes the data of a document, and its schema if another one of the same type is named. Fields that
// were not sent stay, unless the existing data is not to be merged.
func (s *Service) UpdateBlockDocument(ctx context.Context, r *orchv1.UpdateBlockDocumentRequest) (*emptypb.Empty, error) {
	ws, id, err := s.locate(ctx, r.GetId())
	if err != nil {
		return nil, missing(err, noDocument)
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
	u.withData = u.withData || !u.merge // What is not merged is replaced, by nothing if need be.
	_, err = s.documents.Mutate(ctx, ws, id, store.Edit(
		func(next *orchv1.BlockDocument) error { return s.edit(ctx, ws, next, u) },
		func(_, next *orchv1.BlockDocument) ([]store.Effect, error) {
			return s.documentHappened(ctx, ws, next, "updated")
		},
	))
	if err != nil {
		return nil, missing(err, noDocument)
	}
	return &emptypb.Empty{}, nil
}

// update is what a client wants changed.
type update struct {
	asked *orchv1.BlockDocumentUpdate
	// merge keeps the fields that were not sent; withData tells that the data changes at all.
	merge, withData bool
}

// edit carries an update out in a document.
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

// changeData seals the data that an update leads to, unless it is what was there.
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

// shown is the data of a document as clients read it, by the schema that it has.
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
