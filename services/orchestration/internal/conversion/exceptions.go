package conversion

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/vocabulary"
)

// exceptionsName is the collection of exceptions.
const exceptionsName = "vocabulary_exception"

// exception is what the conversion of one document to a vocabulary must know of it before it changed.
type exception struct {
	ID string `bson:"_id"`
	To string `bson:"to"`
	// Kept are the names of that vocabulary which the document had already. A conversion from that vocabulary leaves them alone.
	Kept []string `bson:"kept,omitempty"`
	// Swapped are the names of that vocabulary which the document had beside their counterparts; the two change places.
	Swapped []string `bson:"swapped,omitempty"`
	// Digest identifies the document before the conversion: it is converted once.
	Digest []byte `bson:"digest,omitempty"`
}

func (d *document) exceptionID(to vocabulary.Vocabulary) string {
	return string(d.collection) + "/" + hex.EncodeToString(d.id.Value) + "/" + to.String()
}

func (d *document) digest() []byte {
	sum := sha256.Sum256(d.raw)
	return sum[:]
}

// renaming says how the names of one document change.
type renaming struct {
	from, to vocabulary.Vocabulary
	// kept are names of from that stay, swapped are names of to that change too.
	kept, swapped map[string]bool
	// digest is that of the unconverted document, nil if converting it twice changes nothing.
	digest []byte
}

func (r *renaming) rename(name string) string {
	switch owner, _ := vocabulary.Owner(name); {
	case owner == r.from && !r.kept[name]:
		return r.to.Rename(name)
	case owner == r.to && r.swapped[name]:
		return r.from.Rename(name)
	}
	return name
}

// examine computes the exception of a document that is not converted; ok is false if it needs none.
func (c *Converter) examine(d *document, kept map[string]bool, labels keyLabels) (e exception, r *renaming, ok bool, err error) {
	found := map[string]bool{}
	if _, err := c.rewrite(d, func(name string) string { found[name] = true; return name }, nil, noNotes{}); err != nil {
		return e, nil, false, err
	}
	r = &renaming{from: c.from, to: c.to, kept: kept, swapped: map[string]bool{}}
	own := map[string]bool{}
	for name := range found {
		if owner, _ := vocabulary.Owner(name); owner != c.to {
			continue
		}
		if other := c.from.Rename(name); found[other] && !kept[other] {
			r.swapped[name] = true
		} else {
			own[name] = true
		}
	}
	changed, err := c.rewrite(d, r.rename, labels, noNotes{})
	if err != nil {
		return e, nil, false, err
	}
	if len(own) == 0 && len(r.swapped) == 0 && !changed.reordered {
		return e, r, false, nil
	}
	r.digest = d.digest()
	return exception{
		ID: d.exceptionID(c.to), To: c.to.String(), Kept: slices.Sorted(maps.Keys(own)), Swapped: slices.Sorted(maps.Keys(r.swapped)), Digest: r.digest,
	}, r, true, nil
}

// exceptions reads those of a batch to a vocabulary, by the ids of the documents. Usually a database has none.
func (c *Converter) exceptions(ctx context.Context, batch []*document, to vocabulary.Vocabulary) (map[string]exception, error) {
	coll := c.db.Collection(exceptionsName)
	if !c.someExceptions {
		switch err := coll.FindOne(ctx, bson.D{}).Err(); {
		case errors.Is(err, mongo.ErrNoDocuments):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("read exceptions: %w", err)
		}
		c.someExceptions = true
	}
	ids := make([]string, len(batch))
	for i, d := range batch {
		ids[i] = d.exceptionID(to)
	}
	cursor, err := coll.Find(ctx, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: ids}}}})
	if err != nil {
		return nil, fmt.Errorf("read exceptions: %w", err)
	}
	var list []exception
	if err := cursor.All(ctx, &list); err != nil {
		return nil, fmt.Errorf("read exceptions: %w", err)
	}
	found := make(map[string]exception, len(list))
	for _, e := range list {
		found[e.ID] = e
	}
	return found, nil
}

func setOf(names []string) map[string]bool {
	all := make(map[string]bool, len(names))
	for _, name := range names {
		all[name] = true
	}
	return all
}

// record stores exceptions.
func (c *Converter) record(ctx context.Context, all []exception) error {
	if len(all) == 0 {
		return nil
	}
	models := make([]mongo.WriteModel, len(all))
	for i, e := range all {
		models[i] = mongo.NewReplaceOneModel().SetFilter(bson.D{{Key: "_id", Value: e.ID}}).SetReplacement(e).SetUpsert(true)
	}
	if _, err := c.db.Collection(exceptionsName).BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false)); err != nil {
		return fmt.Errorf("store exceptions: %w", err)
	}
	return nil
}

// forget removes the exceptions that the conversion has used, and all that keep no name.
func (c *Converter) forget(ctx context.Context) error {
	coll := c.db.Collection(exceptionsName)
	_, err := coll.DeleteMany(ctx, bson.D{{Key: "$or", Value: bson.A{
		bson.D{{Key: "to", Value: c.from.String()}}, bson.D{{Key: "kept", Value: bson.D{{Key: "$exists", Value: false}}}},
	}}})
	if err != nil {
		return fmt.Errorf("remove exceptions: %w", err)
	}
	switch err := coll.FindOne(ctx, bson.D{}).Err(); {
	case errors.Is(err, mongo.ErrNoDocuments):
		return coll.Drop(ctx)
	case err != nil:
		return fmt.Errorf("read exceptions: %w", err)
	}
	return nil
}
