package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// leaseName is the collection of leases.
const leaseName = "lease"

// TakeLease implements leader.Store: it acquires or renews the lease of a name until a time. It returns false when another process holds
// the lease.
//
// A lease that ends more than twice the requested time from now is treated as expired, because the clock stepped back: its
// holder may have crashed meanwhile.
func (s *Store) TakeLease(ctx context.Context, name string, holder uuid.UUID, until time.Time) (held bool, err error) {
	now := s.Now()
	impossible := until.Add(until.Sub(now))
	_, err = s.db.Collection(leaseName).UpdateOne(ctx,
		bson.D{{Key: "_id", Value: name}, {Key: "$or", Value: bson.A{
			bson.D{{Key: "until", Value: bson.D{{Key: "$lte", Value: now.UnixMicro()}}}},
			bson.D{{Key: "until", Value: bson.D{{Key: "$gt", Value: impossible.UnixMicro()}}}},
			bson.D{{Key: "holder", Value: Binary(holder)}},
		}}},
		bson.D{{Key: "$set", Value: bson.D{{Key: "holder", Value: Binary(holder)}, {Key: "until", Value: until.UnixMicro()}}}},
		options.UpdateOne().SetUpsert(true))
	s.metrics.held(name, err == nil)
	if mongo.IsDuplicateKeyError(err) { // It exists and did not match: another process holds it.
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("take lease %s: %w", name, outage(err))
	}
	return true, nil
}

// EndLease implements leader.Store: it releases a lease at once. It has no effect unless holder holds it.
func (s *Store) EndLease(ctx context.Context, name string, holder uuid.UUID) error {
	s.metrics.held(name, false)
	_, err := s.db.Collection(leaseName).UpdateOne(ctx,
		bson.D{{Key: "_id", Value: name}, {Key: "holder", Value: Binary(holder)}},
		bson.D{{Key: "$set", Value: bson.D{{Key: "until", Value: int64(0)}}}})
	if err != nil {
		return fmt.Errorf("release lease %s: %w", name, outage(err))
	}
	return nil
}
