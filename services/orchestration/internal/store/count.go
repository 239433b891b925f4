package store

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// Each matches ErrUnavailable too.
var (
	// ErrSlowCount means that a count exceeded its time limit.
	ErrSlowCount = errors.New("count exceeded its time limit")
	// ErrSlowQuery means that reading the matches of a filter exceeded its time limit.
	ErrSlowQuery = errors.New("query exceeded its time limit")
)

// count counts the documents that match a scoped filter, exactly: it sees every write that was acknowledged before the call. It
// stops at a limit; 0 means none. After operationTimeout it returns ErrSlowCount, and the server has ended the walk too.
//
// MongoDB keeps no counters below an index. Its command count walks the keys of one index without reading documents
// (COUNT_SCAN) where the index fixes the filter; the pipeline of CountDocuments passes each key through a group. Equal
// counts share walks, so any number of dashboards causes one walk at a time, and at most five when they begin within 2 ms.
func (s *Store) count(ctx context.Context, c query.Collection, filter bson.D, limit int64) (int64, error) {
	encoded, err := bson.Marshal(filter)
	if err != nil {
		return 0, fmt.Errorf("encode a filter: %w", err)
	}
	n, err := s.counts.Do(ctx, countKey{collection: c, filter: string(encoded), limit: limit}, func(ctx context.Context) (int64, error) {
		return s.countNow(ctx, c, filter, encoded, limit)
	})
	return n, limited(ctx, ErrSlowCount, err)
}

// limited is outage, and marks the error of a command that exceeded its time limit, or that of its query. It also marks a command
// that is too large for the database.
func limited(ctx context.Context, slow, err error) error {
	if err == nil {
		return nil // Of each document of a stream; the tests below are not cheap.
	}
	if isSlow(err) && (ctx.Err() == nil || errors.Is(context.Cause(ctx), query.ErrTimeLimit)) {
		err = fmt.Errorf("%w: %w", slow, err)
	}
	var server mongo.ServerError
	if errors.As(err, &server) && server.HasErrorCode(codeDocumentTooLarge) {
		err = fmt.Errorf("%w: %w", ErrTooLargeQuery, err)
	}
	return outage(err)
}

// isSlow reports whether a command was sent and did not end in time.
func isSlow(err error) bool {
	var selection topology.ServerSelectionError
	return mongo.IsTimeout(err) && !errors.As(err, &selection)
}

// countNow counts the matches of a filter. encoded is the same filter in BSON.
func (s *Store) countNow(ctx context.Context, c query.Collection, filter bson.D, encoded bson.Raw, limit int64) (int64, error) {
	if !s.sharded {
		n, err := s.countKeys(ctx, c, encoded, limit)
		// The driver retries CountDocuments on the new primary, but no command that it does not know.
		if !errors.Is(outage(err), ErrUnavailable) || ctx.Err() != nil || mongo.IsTimeout(err) {
			return n, err
		}
	}
	return query.NewReader(s.db).Count(ctx, c, filter, limit)
}

// countKeys counts by the command count. Behind a mongos it could count documents twice while they move between shards. The command
// has a maxTimeMS, so the server ends a walk that takes too long.
func (s *Store) countKeys(ctx context.Context, c query.Collection, filter bson.Raw, limit int64) (int64, error) {
	if s.direct != nil {
		return s.direct.count(ctx, s.db.Name(), string(c), filter, limit)
	}
	command := bson.D{
		{Key: "count", Value: string(c)},
		{Key: "query", Value: filter},
		{Key: "readConcern", Value: bson.D{{Key: "level", Value: "majority"}}},
	}
	if limit > 0 {
		command = append(command, bson.E{Key: "limit", Value: limit})
	}
	var reply struct {
		N int64 `bson:"n"`
	}
	err := s.db.RunCommand(ctx, command).Decode(&reply)
	return reply.N, err
}
