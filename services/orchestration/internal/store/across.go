package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// EachAcross calls visit with the documents of all workspaces that match, in no order, until it returns an error. It is
// for work that the server does by itself; the filter needs an index that does not start with the workspace.
func (c *Collection[M]) EachAcross(ctx context.Context, filter bson.D, visit func(ws uuid.UUID, m M) error) error {
	alive := append(append(bson.D(nil), filter...), bson.E{Key: "deleted_at", Value: bson.D{{Key: "$exists", Value: false}}})
	cursor, err := c.mongo.Find(ctx, alive, options.Find().SetProjection(withoutOutbox))
	if err != nil {
		return fmt.Errorf("look through all %ss: %w", c.Name(), outage(err))
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for cursor.Next(ctx) {
		ws, err := UUID(cursor.Current.Lookup("ws"))
		if err != nil {
			return err
		}
		m, err := c.decode(cursor.Current)
		if err != nil {
			return err
		}
		if err := visit(ws, m); err != nil {
			return err
		}
	}
	if err := cursor.Err(); err != nil {
		return fmt.Errorf("look through all %ss: %w", c.Name(), outage(err))
	}
	return nil
}
