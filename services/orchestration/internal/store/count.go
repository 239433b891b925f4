package store

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"
	"golang.org/x/sync/errgroup"

	"github.com/orch-project/orch/services/orchestration/internal/hourtotals"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// Each matches ErrUnavailable too.
var (
	// ErrSlowCount means that a count exceeded its time limit.
	ErrSlowCount = errors.New("count exceeded its time limit")
	// ErrSlowQuery means that reading the matches of a filter exceeded its time limit.
	ErrSlowQuery = errors.New("query exceeded its time limit")
)

// boundedCount is the limit up to which a count is cheaper than hour totals.
const boundedCount = 20_000

// count counts the documents that match a scoped filter, exactly: it sees every write that was acknowledged before the call. It
// stops at a limit; 0 means none. After operationTimeout it returns ErrSlowCount, and the server has ended the walk too.
//
// Hour totals answer what they decide (package hourtotals); the indexes of the documents answer the rest. Equal counts share walks, so any number of
// dashboards causes one walk at a time.
func (s *Store) count(ctx context.Context, c query.Collection, filter bson.D, limit int64) (int64, error) {
	encoded, err := bson.Marshal(filter)
	if err != nil {
		return 0, fmt.Errorf("encode a filter: %w", err)
	}
	n, err := s.counts.Do(ctx, countKey{collection: c, filter: string(encoded), limit: limit}, func(ctx context.Context) (int64, error) {
		ctx, cancel := context.WithTimeout(ctx, operationTimeout)
		defer cancel()
		if limit == 0 || limit > boundedCount {
			if q, ok := hourtotals.Parse(c, encoded); ok {
				n, err := s.totals.Count(ctx, q)
				if limit > 0 {
					n = min(n, limit)
				}
				return n, err
			}
		}
		return s.countDocuments(ctx, c, filter, limit)
	})
	return n, limited(ctx, ErrSlowCount, err)
}

// documentCounter counts by the indexes of the documents.
type documentCounter struct{ store *Store }

// Count implements hourtotals.Counter.
func (d documentCounter) Count(ctx context.Context, c query.Collection, filter bson.D) (int64, error) {
	return d.store.countDocuments(ctx, c, filter, 0)
}

// pointsAtOnce bounds the concurrent commands of one count.
const pointsAtOnce = 8

// countDocuments counts by one command for each point of the filter: MongoDB counts the keys of a single range four times as fast as those of
// several.
func (s *Store) countDocuments(ctx context.Context, c query.Collection, filter bson.D, limit int64) (int64, error) {
	points := query.Points(filter)
	if len(points) == 1 {
		return s.countRange(ctx, c, points[0], limit)
	}
	counts := make([]int64, len(points))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(pointsAtOnce)
	for i, point := range points {
		group.Go(func() (err error) {
			counts[i], err = s.countRange(ctx, c, point, limit)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	var n int64
	for _, count := range counts {
		n += count
	}
	if limit > 0 {
		n = min(n, limit)
	}
	return n, nil
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

// countRange counts by the command count. It walks the keys of one index without reading documents (COUNT_SCAN) where the index fixes
// the filter; the pipeline of CountDocuments passes each key through a group. Behind a mongos the command could count documents
// twice while they move between shards.
func (s *Store) countRange(ctx context.Context, c query.Collection, filter bson.D, limit int64) (int64, error) {
	if !s.sharded {
		n, err := s.countKeys(ctx, c, filter, limit)
		// The driver retries CountDocuments on the new primary, but no command that it does not know.
		if !errors.Is(outage(err), ErrUnavailable) || ctx.Err() != nil || mongo.IsTimeout(err) {
			return n, err
		}
	}
	return query.NewReader(s.db).Count(ctx, c, filter, limit)
}

// countKeys executes the command, which has a maxTimeMS: so the server ends a walk that takes too long.
func (s *Store) countKeys(ctx context.Context, c query.Collection, filter bson.D, limit int64) (int64, error) {
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
