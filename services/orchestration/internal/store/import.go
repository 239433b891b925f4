package store

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
)

// InsertEach inserts documents that do not depend on each other. It returns the positions of those whose unique keys exist, and
// those that the database refuses; it stores the others. After an error, any of them may be stored.
func InsertEach[M proto.Message](ctx context.Context, c *Collection[M], docs []bson.Raw) (taken []int, refused []Refusal, err error) {
	if len(docs) == 0 {
		return nil, nil, nil
	}
	return c.insertMany(ctx, docs)
}
