package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// UpdateMany updates all documents of a workspace that match, beside their revisions: it neither looks at them nor changes
// them. It is for fields that no decision is based on, such as a name that is stored for lists, and must be idempotent.
func (s *Store) UpdateMany(ctx context.Context, collection query.Collection, ws uuid.UUID, filter, update bson.D) error {
	if _, err := s.db.Collection(string(collection)).UpdateMany(ctx, query.Scope(ws, filter), update); err != nil {
		return fmt.Errorf("update %ss: %w", collection, outage(err))
	}
	return nil
}
