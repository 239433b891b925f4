package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
)

// drainBatch is the number of documents of one read.
const drainBatch = 200

// Drain calls remove with the id of each matching document of a workspace, in order, until none matches. remove must
// delete the document; ErrNotFound means that another process was faster, and counts as success. Any other error stops
// Drain.
func Drain[M proto.Message](ctx context.Context, c *Collection[M], ws uuid.UUID, filter bson.D, remove func(id uuid.UUID) error) error {
	for {
		found, err := c.Find(ctx, ws, Query{Filter: filter, Sort: bson.D{{Key: "_id", Value: 1}}, Limit: drainBatch})
		if err != nil || len(found) == 0 {
			return err
		}
		for _, m := range found {
			id := documentID(m)
			if id == uuid.Nil {
				return fmt.Errorf("drain %ss: document without id", c.Name())
			}
			if err := remove(id); err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
		}
	}
}

// DrainDependents is Drain for the dependents of the resources of effects made by ResourceEffect; field holds the resource's id. Clients
// can choose ids, so a new resource may have the same id. DrainDependents therefore skips documents younger than the effect.
func DrainDependents[M proto.Message](ctx context.Context, c *Collection[M], effects []Effect, field string, remove func(ws, id uuid.UUID) error) error {
	for _, e := range effects {
		ws, subject, err := e.Subject()
		if err != nil {
			return err
		}
		filter := bson.D{{Key: field, Value: Binary(subject)}, {Key: "created", Value: bson.D{{Key: "$lte", Value: e.At.UnixMicro()}}}}
		if err := Drain(ctx, c, ws, filter, func(id uuid.UUID) error { return remove(ws, id) }); err != nil {
			return err
		}
	}
	return nil
}
