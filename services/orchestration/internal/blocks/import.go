package blocks

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/jsontree"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
)

// Imported completes a document of another server, whose data is in clear text, into its stored form. The schema must be stored.
func (s *Service) Imported(ctx context.Context, ws uuid.UUID, document *orchv1.BlockDocument) error {
	id, err := resourceid.Parse(document.GetBlockSchemaId())
	if err != nil {
		return err
	}
	schema, err := s.schemas.Get(ctx, ws, id)
	if err != nil {
		return fmt.Errorf("read the schema of block document %s: %w", document.GetId(), err)
	}
	data, err := jsontree.ParseObject(document.GetData())
	if err != nil {
		return fmt.Errorf("read the data of block document %s: %w", document.GetId(), err)
	}
	refers, err := references(data)
	if err != nil {
		return err
	}
	if document.SecretFields, err = secretFields(schema); err != nil {
		return err
	}
	document.Data = nil
	return s.seal(ws, document, data, refers)
}
