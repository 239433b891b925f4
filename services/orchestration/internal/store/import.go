package store

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// Existing returns which of the ids belong to documents of the workspace.
func Existing[M proto.Message](ctx context.Context, c *Collection[M], ws uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]bool, error) {
	wanted := make(bson.A, 0, 2*len(ids))
	for _, id := range ids {
		wanted = append(wanted, Binary(id))
		if c.shared {
			wanted = append(wanted, query.CollisionKey(ws, id))
		}
	}
	found, err := c.keys(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: wanted}}}}, nil, 0, "id")
	if err != nil {
		return nil, err
	}
	existing := make(map[uuid.UUID]bool, len(found))
	for _, doc := range found {
		if doc, err = plain(doc); err != nil {
			return nil, err
		}
		owner, err := UUID(doc.Lookup("ws"))
		if err != nil {
			return nil, err
		}
		id, err := UUID(doc.Lookup("_id"))
		if err != nil {
			return nil, err
		}
		existing[id] = existing[id] || owner == ws
	}
	return existing, nil
}

// InsertEach inserts documents that do not depend on each other. It returns the positions of those whose unique keys exist, and
// those that the database refuses; it stores the others. After an error, any of them may be stored.
func InsertEach[M proto.Message](ctx context.Context, c *Collection[M], docs []bson.Raw) (taken []int, refused []Refusal, err error) {
	if len(docs) == 0 {
		return nil, nil, nil
	}
	return c.insertMany(ctx, docs)
}
