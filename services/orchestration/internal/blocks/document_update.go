package blocks

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
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

// edit applies an update to a document. Values that were stored as secrets stay secret, unless the request sends them
// anew.
func (s *Service) edit(ctx context.Context, ws uuid.UUID, document *orchv1.BlockDocument, u update) error {
	schema, err := s.schemaOf(ctx, ws, document.GetBlockSchemaId(), document.GetBlockTypeId())
	if err != nil {
		return err
	}
	hidden, err := hiddenFields(document, schema)
	if err != nil {
		return err
	}
	otherSchema := u.asked.GetBlockSchemaId() != "" && u.asked.GetBlockSchemaId() != document.GetBlockSchemaId()
	if otherSchema {
		if schema, err = s.schemaOf(ctx, ws, u.asked.GetBlockSchemaId(), document.GetBlockTypeId()); err != nil {
			return err
		}
		document.BlockSchemaId = schema.GetId()
	}
	if !otherSchema && !u.withData {
		return nil
	}
	before, err := s.open(ws, document)
	if err != nil {
		return err
	}
	unsent := before // The part of the data that the request does not send.
	if u.withData {
		if unsent, err = s.changeData(ctx, ws, document, before, hidden, u); err != nil {
			return err
		}
	}
	if document.SecretFields, err = secretFields(schema); err != nil {
		return err
	}
	kept := union(document.GetSecretFields(), fieldsWithin(unsent, hidden))
	if otherSchema && len(kept) > len(document.GetSecretFields()) {
		// A caller who may read the secrets may also publish them by a schema.
		if may, err := s.readsSecrets(ctx, ws); may || err != nil {
			return err
		}
	}
	document.SecretFields = kept
	return nil
}

// changeData encrypts the updated data, unless it is unchanged. It returns the current values that the request does not
// send.
func (s *Service) changeData(
	ctx context.Context, ws uuid.UUID, document *orchv1.BlockDocument, before *jsontree.Object, hidden []string, u update,
) (unsent *jsontree.Object, err error) {
	sent, err := jsontree.ParseObject(u.asked.GetData())
	if err != nil {
		return nil, fmt.Errorf("change a block document: %w", err)
	}
	shown := jsontree.Copy(before).(*jsontree.Object)
	redact(shown, parsePaths(hidden))
	unsent = unsentMembers(sent, shown, before)
	restore(sent, shown, before)
	data := sent
	if u.merge {
		data = before.Clone()
		for _, m := range sent.Members() {
			data.Set(m.Key, m.Value)
		}
		for _, m := range before.Members() {
			if _, there := sent.Get(m.Key); !there {
				unsent.Set(m.Key, m.Value)
			}
		}
	}
	if jsontree.Equal(data, before) && s.keys.Current(document.GetSealedData()) {
		return unsent, nil
	}
	if err := s.checkDestination(ctx, ws, before, data, fieldsWithin(unsent, hidden)); err != nil {
		return nil, err
	}
	refers, err := references(data)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(ids(refers, func(r reference) string { return r.id.String() }), document.GetRefersTo()) {
		if err := s.checkReferences(ctx, ws, document, refers); err != nil {
			return nil, err
		}
	}
	return unsent, s.seal(ws, document, data, refers)
}

// readsSecrets reports whether the caller may read the secrets of blocks.
func (s *Service) readsSecrets(ctx context.Context, ws uuid.UUID) (bool, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return false, err
	}
	scopes, err := s.scopes.WorkspaceScopes(ctx, info, ws)
	return scopes.Has("read_block_secrets"), err
}
