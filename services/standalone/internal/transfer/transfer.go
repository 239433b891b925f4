// Package transfer copies databases between MongoDB servers, including the embedded one. Documents and indexes are
// identical on both.
package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Progress receives the number of copied documents of a collection; total is an estimate.
type Progress func(collection string, done, total int64)

// batchBytes and batchDocuments bound one insert.
const (
	batchBytes     = 8 << 20
	batchDocuments = 1000
)

// ErrNotEmpty reports that the target holds data. Copy wrote nothing.
var ErrNotEmpty = errors.New("the target database is not empty")

// Copy copies every collection of a database, with its indexes, into an empty one. It builds the indexes last, which
// costs less than maintaining them.
func Copy(ctx context.Context, from, to *mongo.Database, progress Progress) error {
	existing, err := to.ListCollectionNames(ctx, bson.D{})
	if err != nil {
		return fmt.Errorf("list collections of the target: %w", err)
	}
	if len(existing) > 0 {
		return fmt.Errorf("%w: %s holds %s", ErrNotEmpty, to.Name(), existing[0])
	}
	names, err := from.ListCollectionNames(ctx, bson.D{})
	if err != nil {
		return fmt.Errorf("list collections of the source: %w", err)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := copyDocuments(ctx, from.Collection(name), to.Collection(name), progress); err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
		if err := copyIndexes(ctx, from.Collection(name), to.Collection(name)); err != nil {
			return fmt.Errorf("copy the indexes of %s: %w", name, err)
		}
	}
	return nil
}

func copyDocuments(ctx context.Context, from, to *mongo.Collection, progress Progress) error {
	total, err := from.EstimatedDocumentCount(ctx)
	if err != nil {
		return err
	}
	cursor, err := from.Find(ctx, bson.D{}, options.Find().SetBatchSize(batchDocuments))
	if err != nil {
		return err
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	var batch []bson.Raw
	var size int
	var done int64
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		if _, err := to.InsertMany(ctx, batch); err != nil {
			return err
		}
		done += int64(len(batch))
		progress(from.Name(), done, total)
		batch, size = batch[:0], 0
		return nil
	}
	for cursor.Next(ctx) {
		batch = append(batch, append(bson.Raw(nil), cursor.Current...))
		if size += len(cursor.Current); size >= batchBytes || len(batch) >= batchDocuments {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return errors.Join(cursor.Err(), flush())
}

func copyIndexes(ctx context.Context, from, to *mongo.Collection) error {
	cursor, err := from.Indexes().List(ctx)
	if err != nil {
		return err
	}
	var specs []bson.Raw
	if err := cursor.All(ctx, &specs); err != nil {
		return err
	}
	var indexes bson.A
	for _, spec := range specs {
		if name, _ := spec.Lookup("name").StringValueOK(); name != "_id_" {
			indexes = append(indexes, withoutNamespace(spec))
		}
	}
	if len(indexes) == 0 {
		return nil
	}
	return to.Database().RunCommand(ctx, bson.D{{Key: "createIndexes", Value: to.Name()}, {Key: "indexes", Value: indexes}}).Err()
}

// withoutNamespace removes the source's namespace from an index.
func withoutNamespace(spec bson.Raw) bson.D {
	var d bson.D
	elements, err := spec.Elements()
	if err != nil {
		return nil
	}
	for _, e := range elements {
		if e.Key() != "ns" {
			d = append(d, bson.E{Key: e.Key(), Value: e.Value()})
		}
	}
	return d
}
