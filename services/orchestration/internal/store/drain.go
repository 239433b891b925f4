package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// drainBatch is how many documents are read at a time.
const drainBatch = 200

// Drain calls remove with the id of each document of a workspace that matches, in order of their ids, until none is
// left. remove deletes it; that somebody else was faster, ErrNotFound, is as good. Any other error ends it.
func (c *Collection[M]) Drain(ctx context.Context, ws uuid.UUID, filter bson.D, remove func(id uuid.UUID) error) error {
	for {
		found, err := c.Find(ctx, ws, filter, bson.D{{Key: "_id", Value: 1}}, 0, drainBatch)
		if err != nil || len(found) == 0 {
			return err
		}
		for _, m := range found {
			id := documentID(m)
			if id == uuid.Nil {
				return fmt.Errorf("delete each %s: one has no id", c.Name())
			}
			if err := remove(id); err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
		}
	}
}

// DrainOf is Drain for what belonged to the things that effects made by About speak of: a field holds their id. Clients can
// choose ids, so another thing may have got one since: what is younger than an effect is not of what it speaks of.
func (c *Collection[M]) DrainOf(ctx context.Context, effects []Effect, field string, remove func(ws, id uuid.UUID) error) error {
	for _, e := range effects {
		ws, of, err := e.Subject()
		if err != nil {
			return err
		}
		filter := bson.D{{Key: field, Value: Binary(of)}, {Key: "created", Value: bson.D{{Key: "$lte", Value: e.At.UnixMicro()}}}}
		if err := c.Drain(ctx, ws, filter, func(id uuid.UUID) error { return remove(ws, id) }); err != nil {
			return err
		}
	}
	return nil
}
