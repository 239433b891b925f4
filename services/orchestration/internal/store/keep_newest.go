package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
)

// KeepNewest removes the matching documents beyond the newest ones, by a time that every document has: the field, which at reads.
// The documents have no effects.
func KeepNewest[M proto.Message](ctx context.Context, c *Collection[M], ws uuid.UUID, filter bson.D, field string, at func(M) time.Time, limit int64) error {
	beyond, err := c.Find(ctx, ws, Query{Filter: filter, Sort: bson.D{{Key: field, Value: -1}, {Key: "_id", Value: -1}}, Offset: limit, Limit: 1})
	if err != nil || len(beyond) == 0 {
		return err
	}
	old := bson.E{Key: field, Value: bson.D{{Key: "$lte", Value: at(beyond[0]).UnixMicro()}}}
	return c.DeleteMany(ctx, ws, append(filter[:len(filter):len(filter)], old))
}
