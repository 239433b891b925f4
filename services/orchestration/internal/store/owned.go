package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Owned is a document and whose it is.
type Owned[M any] struct {
	Workspace uuid.UUID
	Message   M
}

// FirstOfAll reads the first documents of all workspaces that match, in order. It is for what the server does by
// itself; the filter needs an index that does not begin with the workspace.
func (c *Collection[M]) FirstOfAll(ctx context.Context, filter, sort bson.D, limit int64) ([]Owned[M], error) {
	alive := append(append(bson.D(nil), filter...), bson.E{Key: "deleted_at", Value: bson.D{{Key: "$exists", Value: false}}})
	cursor, err := c.mongo.Find(ctx, alive, options.Find().SetProjection(withoutOutbox).SetSort(sort).SetLimit(limit))
	if err != nil {
		return nil, fmt.Errorf("find %ss of all workspaces: %w", c.Name(), outage(err))
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	var found []Owned[M]
	for cursor.Next(ctx) {
		ws, err := UUID(cursor.Current.Lookup("ws"))
		if err != nil {
			return nil, err
		}
		m, err := c.decode(cursor.Current)
		if err != nil {
			return nil, err
		}
		found = append(found, Owned[M]{ws, m})
	}
	if err := cursor.Err(); err != nil {
		return nil, fmt.Errorf("find %ss of all workspaces: %w", c.Name(), outage(err))
	}
	return found, nil
}
