package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// UpdateMany updates all matching documents of a workspace without reading them or changing their revisions. It is for
// fields that no decision depends on, such as a name that is stored for lists. The update must be idempotent.
func (s *Store) UpdateMany(ctx context.Context, collection query.Collection, ws uuid.UUID, filter, update bson.D) error {
	if _, err := s.db.Collection(string(collection)).UpdateMany(ctx, query.Scope(ws, filter), update); err != nil {
		return fmt.Errorf("update %ss: %w", collection, outage(err))
	}
	return nil
}
