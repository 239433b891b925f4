package blocks

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/secrets"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
)

// dataField is the encryption context of a document's data.
func dataField(ws uuid.UUID, document *orchv1.BlockDocument) (secrets.FieldRef, error) {
	id, err := resourceid.Parse(document.GetId())
	return secrets.FieldRef{Workspace: ws, Document: id, Field: "block_document.data"}, err
}

// seal encrypts data into a document and records the ids that it references.
func (s *Service) seal(ws uuid.UUID, document *orchv1.BlockDocument, data *jsontree.Object, refers []reference) error {
	at, err := dataField(ws, document)
	if err != nil {
		return err
	}
	if document.SealedData, err = s.keys.Seal(at, jsontree.Text(data)); err != nil {
		return err
	}
	document.RefersTo = ids(refers, func(r reference) string { return r.id.String() })
	return nil
}

// open decrypts the data of a document.
func (s *Service) open(ws uuid.UUID, document *orchv1.BlockDocument) (*jsontree.Object, error) {
	at, err := dataField(ws, document)
	if err != nil {
		return nil, err
	}
	text, err := s.keys.Open(at, document.GetSealedData())
	if err != nil {
		return nil, err
	}
	data, err := jsontree.ParseObject(text)
	if err != nil {
		return nil, fmt.Errorf("read the data of block document %s: %w", document.GetId(), err)
	}
	return data, nil
}
