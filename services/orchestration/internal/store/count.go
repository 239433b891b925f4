package store

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// count counts the documents that match a scoped filter, exactly: it sees every write that was acknowledged before the call.
//
// MongoDB keeps no counters below an index. Its command count walks the keys of one index without reading documents
// (COUNT_SCAN) where the index fixes the filter; the pipeline of CountDocuments passes each key through a group. Equal
// counts share walks, so any number of dashboards causes one walk at a time.
func (s *Store) count(ctx context.Context, c query.Collection, filter bson.D) (int64, error) {
	encoded, err := bson.Marshal(filter)
	if err != nil {
		return 0, fmt.Errorf("encode a filter: %w", err)
	}
	n, err := s.counts.Do(ctx, string(c)+"\x00"+string(encoded), func(ctx context.Context) (int64, error) {
		return s.countNow(ctx, c, encoded)
	})
	return n, outage(err)
}

func (s *Store) countNow(ctx context.Context, c query.Collection, filter bson.Raw) (int64, error) {
	if !s.sharded {
		n, err := s.countKeys(ctx, c, filter)
		// The driver retries CountDocuments on the new primary, but no command that it does not know.
		if !errors.Is(outage(err), ErrUnavailable) || ctx.Err() != nil || mongo.IsTimeout(err) {
			return n, err
		}
	}
	return s.db.Collection(string(c)).CountDocuments(ctx, filter)
}

// countKeys counts by the command count. Behind a mongos it could count documents twice while they move between shards.
func (s *Store) countKeys(ctx context.Context, c query.Collection, filter bson.Raw) (int64, error) {
	var reply struct {
		N int64 `bson:"n"`
	}
	err := s.db.RunCommand(ctx, bson.D{
		{Key: "count", Value: string(c)},
		{Key: "query", Value: filter},
		{Key: "readConcern", Value: bson.D{{Key: "level", Value: "majority"}}},
	}).Decode(&reply)
	return reply.N, err
}
