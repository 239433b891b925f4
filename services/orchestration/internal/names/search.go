package names

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

const (
	// maxFound is the number of names that become a list of values. A page finds the runs of more names sooner in its own order.
	maxFound = 1000
	// maxRead is the number of terms that a search reads.
	maxRead = 20_000
	// maxGrams is the number of trigrams whose terms a search counts to read those of the rarest.
	maxGrams = 4
)

// Search returns the names of a workspace's documents that match a condition, a regular expression for a text in which % stands for any
// characters. ok is false when the dictionary does not tell them, or they are many: then the condition is tested on the documents.
func (d *Dictionary) Search(ctx context.Context, ws uuid.UUID, c query.Collection, text string, condition any) (found []string, ok bool, err error) {
	s := scope{ws, kinds[c]}
	var grams []int32
	for literal := range strings.SplitSeq(text, "%") {
		if more := gramsOf(literal); len(more) > len(grams) {
			grams = more
		}
	}
	if s.kind == 0 || !d.complete.Load() || len(grams) == 0 {
		return nil, false, nil
	}
	found, ok, err = d.search(ctx, s, spread(grams, maxGrams), condition)
	if err != nil {
		return nil, false, fmt.Errorf("search names of %ss: %w", c, err)
	}
	return found, ok, nil
}

func (d *Dictionary) search(ctx context.Context, s scope, grams []int32, condition any) (found []string, ok bool, err error) {
	err = d.terms.FindOne(ctx, bson.D{{Key: "_id", Value: s.mark()}}).Err()
	if !errors.Is(err, mongo.ErrNoDocuments) {
		return nil, false, err
	}
	var rarest bson.D
	least := int64(maxRead) + 1
	for _, g := range grams {
		filter := bson.D{
			{Key: "ws", Value: bson.Binary{Subtype: bson.TypeBinaryUUID, Data: s.ws[:]}},
			{Key: "kind", Value: string(s.kind)},
			{Key: "grams", Value: g},
		}
		n, err := d.terms.CountDocuments(ctx, filter, options.Count().SetHint(gramsIndex).SetLimit(least))
		switch {
		case err != nil:
			return nil, false, err
		case n == 0:
			return nil, true, nil
		case n < least:
			least, rarest = n, filter
		}
	}
	if rarest == nil {
		return nil, false, nil
	}
	filter := append(rarest, bson.E{Key: "name", Value: condition})
	cursor, err := d.terms.Find(ctx, filter, options.Find().SetHint(gramsIndex).SetLimit(maxFound+1).SetBatchSize(maxFound+1).
		SetProjection(bson.D{{Key: "_id", Value: 0}, {Key: "name", Value: 1}}))
	if err != nil {
		return nil, false, err
	}
	var terms []struct {
		Name string `bson:"name"`
	}
	if err := cursor.All(ctx, &terms); err != nil {
		return nil, false, err
	}
	for _, t := range terms {
		found = append(found, t.Name)
	}
	return found, len(found) <= maxFound, nil
}
