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

// leaseName is the collection that holds who does what.
const leaseName = "lease"

// TakeLease makes holder the one who holds a name until then, or lets it go on holding it. The epoch grows with every
// take. It is false when another one holds the name.
func (s *Store) TakeLease(ctx context.Context, name string, holder uuid.UUID, until time.Time) (epoch int64, held bool, err error) {
	var lease struct {
		Epoch int64 `bson:"epoch"`
	}
	err = s.db.Collection(leaseName).FindOneAndUpdate(ctx,
		bson.D{{Key: "_id", Value: name}, {Key: "$or", Value: bson.A{
			bson.D{{Key: "until", Value: bson.D{{Key: "$lte", Value: s.Now().UnixMicro()}}}},
			bson.D{{Key: "holder", Value: Binary(holder)}},
		}}},
		bson.D{
			{Key: "$set", Value: bson.D{{Key: "holder", Value: Binary(holder)}, {Key: "until", Value: until.UnixMicro()}}},
			{Key: "$inc", Value: bson.D{{Key: "epoch", Value: int64(1)}}},
		},
		options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)).Decode(&lease)
	if mongo.IsDuplicateKeyError(err) { // It is there and did not match: somebody else has it.
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("take the lease %s: %w", name, outage(err))
	}
	return lease.Epoch, true, nil
}

// EndLease lets another one take a name at once. One that holder does not hold stays as it is.
func (s *Store) EndLease(ctx context.Context, name string, holder uuid.UUID) error {
	_, err := s.db.Collection(leaseName).UpdateOne(ctx,
		bson.D{{Key: "_id", Value: name}, {Key: "holder", Value: Binary(holder)}},
		bson.D{{Key: "$set", Value: bson.D{{Key: "until", Value: int64(0)}}}})
	if err != nil {
		return fmt.Errorf("end the lease %s: %w", name, outage(err))
	}
	return nil
}
