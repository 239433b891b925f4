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

// TakeLease acquires or renews the lease of a name until a time. The epoch increases with every acquisition. The result
// is false when another process holds the lease.
//
// A lease that ends more than twice the requested time from now is treated as expired, because the clock stepped back: its
// holder may have crashed meanwhile.
func (s *Store) TakeLease(ctx context.Context, name string, holder uuid.UUID, until time.Time) (epoch int64, held bool, err error) {
	var lease struct {
		Epoch int64 `bson:"epoch"`
	}
	now := s.Now()
	impossible := until.Add(until.Sub(now))
	err = s.db.Collection(leaseName).FindOneAndUpdate(ctx,
		bson.D{{Key: "_id", Value: name}, {Key: "$or", Value: bson.A{
			bson.D{{Key: "until", Value: bson.D{{Key: "$lte", Value: now.UnixMicro()}}}},
			bson.D{{Key: "until", Value: bson.D{{Key: "$gt", Value: impossible.UnixMicro()}}}},
			bson.D{{Key: "holder", Value: Binary(holder)}},
		}}},
		bson.D{
			{Key: "$set", Value: bson.D{{Key: "holder", Value: Binary(holder)}, {Key: "until", Value: until.UnixMicro()}}},
			{Key: "$inc", Value: bson.D{{Key: "epoch", Value: int64(1)}}},
		},
		options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)).Decode(&lease)
	s.metrics.held(name, err == nil)
	if mongo.IsDuplicateKeyError(err) { // It exists and did not match: another process holds it.
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("take lease %s: %w", name, outage(err))
	}
	return lease.Epoch, true, nil
}

// EndLease releases a lease at once. It has no effect unless holder holds it.
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
