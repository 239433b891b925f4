package store

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Writable reports whether a majority acknowledges writes: it changes nothing, and waits until a majority has all writes that the primary
// knows of.
func (s *Store) Writable(ctx context.Context) error {
	_, err := s.db.Collection(metaName).UpdateOne(ctx, bson.D{{Key: "_id", Value: "format"}}, bson.D{{Key: "$setOnInsert", Value: bson.D{{Key: "_", Value: 0}}}})
	if err != nil {
		return fmt.Errorf("write to database: %w", outage(err))
	}
	return nil
}
