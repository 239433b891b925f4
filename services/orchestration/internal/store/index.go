package store

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// EnsureIndexes makes the indexes that are missing. Those that are there cost one look.
func (s *Store) EnsureIndexes(ctx context.Context, indexes []query.Index) error {
	byCollection := map[query.Collection][]mongo.IndexModel{}
	var order []query.Collection
	for _, index := range indexes {
		if byCollection[index.Collection] == nil {
			order = append(order, index.Collection)
		}
		byCollection[index.Collection] = append(byCollection[index.Collection], model(index))
	}
	for _, collection := range order {
		if _, err := s.db.Collection(string(collection)).Indexes().CreateMany(ctx, byCollection[collection]); err != nil {
			return fmt.Errorf("make the indexes of %s: %w", collection, outage(err))
		}
	}
	return nil
}

func model(index query.Index) mongo.IndexModel {
	opts := options.Index()
	if index.Unique {
		opts.SetUnique(true)
	}
	if index.Sparse {
		opts.SetSparse(true)
	}
	if index.Partial != nil {
		opts.SetPartialFilterExpression(index.Partial)
	}
	if index.TTL {
		opts.SetExpireAfterSeconds(0)
	}
	return mongo.IndexModel{Keys: index.Keys, Options: opts}
}

// Reader reads for queries that span collections.
func (s *Store) Reader() query.Reader { return query.NewReader(s.db) }
