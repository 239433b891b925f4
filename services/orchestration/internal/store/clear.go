package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// Clear removes every document of a workspace from the collections, with its pending effects and its dead letters.
// Documents of other owners remain.
func (s *Store) Clear(ctx context.Context, ws uuid.UUID, collections []query.Collection) error {
	for _, collection := range collections {
		if _, err := s.db.Collection(string(collection)).DeleteMany(ctx, query.Scope(ws, bson.D{})); err != nil {
			return fmt.Errorf("delete %ss of workspace: %w", collection, outage(err))
		}
	}
	if err := errors.Join(s.totals.Clear(ctx, ws), s.names.Clear(ctx, ws)); err != nil {
		return outage(err)
	}
	if _, err := s.db.Collection(deadLetterName).DeleteMany(ctx, query.Scope(ws, bson.D{})); err != nil {
		return fmt.Errorf("delete dead letters of workspace: %w", outage(err))
	}
	return nil
}
