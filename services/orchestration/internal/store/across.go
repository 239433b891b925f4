package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// The following reads serve background work over all workspaces. Each filter needs an index that does not start with the
// workspace.

// Owned is a document with its workspace. Revision is that of the read.
type Owned[M any] struct {
	Workspace uuid.UUID
	Message   M
	Revision  int64
}

// EachAcross calls visit with the matching documents of all workspaces, in no order, until it returns an error.
func (c *Collection[M]) EachAcross(ctx context.Context, filter bson.D, visit func(ws uuid.UUID, m M) error) error {
	return c.across(ctx, filter, options.Find(), func(ws uuid.UUID, _ int64, m M) error { return visit(ws, m) })
}

// EachInOrder is EachAcross in the order of an index. A document that visit moves within that order may be visited again.
func (c *Collection[M]) EachInOrder(ctx context.Context, filter, sort bson.D, visit func(ws uuid.UUID, m M) error) error {
	return c.across(ctx, filter, options.Find().SetSort(sort), func(ws uuid.UUID, _ int64, m M) error { return visit(ws, m) })
}

// EachOfAll calls visit with every document of every workspace, in no order, until it returns an error.
func (c *Collection[M]) EachOfAll(ctx context.Context, visit func(ws uuid.UUID, revision int64, m M) error) error {
	return c.across(ctx, nil, options.Find(), visit)
}

// FirstOfAll reads the first matching documents of all workspaces, in order.
func (c *Collection[M]) FirstOfAll(ctx context.Context, filter, sort bson.D, limit int64) ([]Owned[M], error) {
	var found []Owned[M]
	err := c.across(ctx, filter, options.Find().SetSort(sort).SetLimit(limit), func(ws uuid.UUID, revision int64, m M) error {
		found = append(found, Owned[M]{ws, m, revision})
		return nil
	})
	return found, err
}

func (c *Collection[M]) across(
	ctx context.Context, filter bson.D, o *options.FindOptionsBuilder, visit func(ws uuid.UUID, revision int64, m M) error,
) error {
	alive := append(append(bson.D(nil), filter...), bson.E{Key: "deleted_at", Value: bson.D{{Key: "$exists", Value: false}}})
	cursor, err := c.mongo.Find(ctx, alive, o.SetProjection(withoutOutbox))
	if err != nil {
		return fmt.Errorf("scan %ss of all workspaces: %w", c.Name(), outage(err))
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
		revision, _ := cursor.Current.Lookup("rev").AsInt64OK()
		if err := visit(ws, revision, m); err != nil {
			return err
		}
	}
	if err := cursor.Err(); err != nil {
		return fmt.Errorf("scan %ss of all workspaces: %w", c.Name(), outage(err))
	}
	return nil
}
