package names

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// filled is the number of documents whose names are read together.
const filled = 1000

// Fill adds the names of all documents of a database, and returns the number of names. It may be repeated: an interrupted one begins anew.
// Servers add the names of what they write meanwhile.
func (d *Dictionary) Fill(ctx context.Context, db *mongo.Database) (added int, err error) {
	for c := range kinds {
		runs := db.Collection(string(c))
		var workspaces []bson.Binary
		if err := runs.Distinct(ctx, "ws", bson.D{}).Decode(&workspaces); err != nil {
			return added, fmt.Errorf("find workspaces of %ss: %w", c, err)
		}
		for _, id := range workspaces {
			ws, err := uuid.FromBytes(id.Data)
			if err != nil {
				return added, fmt.Errorf("find workspaces of %ss: %w", c, err)
			}
			n, err := d.fillScope(ctx, runs, ws, c)
			if added += n; err != nil {
				return added, fmt.Errorf("read names of %ss: %w", c, err)
			}
		}
	}
	return added, nil
}

// fillScope adds the names of the documents of a workspace, in their order. Documents with one name are beside each other, so each read
// begins behind the last name of the one before.
func (d *Dictionary) fillScope(ctx context.Context, runs *mongo.Collection, ws uuid.UUID, c query.Collection) (added int, err error) {
	byName := bson.D{{Key: "name", Value: 1}}
	for last := ""; ; {
		filter := query.Scope(ws, bson.D{{Key: "name", Value: bson.D{{Key: "$gt", Value: last}}}})
		cursor, err := query.Find(ctx, runs, filter, options.Find().SetSort(byName).SetLimit(filled).SetBatchSize(filled).
			SetProjection(bson.D{{Key: "_id", Value: 0}, {Key: "name", Value: 1}}))
		if err != nil {
			return added, err
		}
		var found []struct {
			Name string `bson:"name"`
		}
		if err := cursor.All(ctx, &found); err != nil || len(found) == 0 {
			return added, err
		}
		var list []string
		for _, run := range found {
			if name := run.Name; name != "" && !slices.Contains(list[max(0, len(list)-1):], name) {
				list = append(list, name)
			}
		}
		if err := d.Add(ctx, ws, c, list...); err != nil {
			return added, err
		}
		added += len(list)
		last = found[len(found)-1].Name
	}
}
