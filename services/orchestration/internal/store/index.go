package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// indexTimeout bounds the creation of indexes. A new one over millions of documents takes minutes, longer than any
// other operation may.
const indexTimeout = 6 * time.Hour

// EnsureIndexes creates missing indexes, and replaces those that an older version created with other options. Existing
// ones cost one read. It drops the retired indexes of older versions, and leaves those that an operator created.
func (s *Store) EnsureIndexes(ctx context.Context, indexes []query.Index) error {
	ctx, cancel := context.WithTimeout(ctx, indexTimeout)
	defer cancel()
	byCollection := map[query.Collection][]mongo.IndexModel{}
	var order []query.Collection
	for _, index := range indexes {
		if byCollection[index.Collection] == nil {
			order = append(order, index.Collection)
		}
		byCollection[index.Collection] = append(byCollection[index.Collection], model(index))
	}
	for _, collection := range order {
		view := s.db.Collection(string(collection)).Indexes()
		_, err := view.CreateMany(ctx, byCollection[collection])
		if differs(err) {
			err = remake(ctx, view, byCollection[collection])
		}
		if err != nil {
			return fmt.Errorf("create indexes of %s: %w", collection, outage(err))
		}
	}
	for collection, retired := range query.Retired() {
		if err := dropIndexes(ctx, s.db.Collection(string(collection)).Indexes(), retired); err != nil {
			return fmt.Errorf("drop retired indexes of %s: %w", collection, outage(err))
		}
	}
	return nil
}

// dropIndexes drops the indexes with these keys that exist.
func dropIndexes(ctx context.Context, view mongo.IndexView, keys []bson.D) error {
	existing, err := view.ListSpecifications(ctx)
	if err != nil {
		return err
	}
	retired := make([]bson.Raw, len(keys))
	for i, k := range keys {
		if retired[i], err = bson.Marshal(k); err != nil {
			return err
		}
	}
	for _, index := range existing {
		if !slices.ContainsFunc(retired, func(k bson.Raw) bool { return bytes.Equal(k, index.KeysDocument) }) {
			continue
		}
		const indexNotFound = 27 // Another replica dropped it.
		err := view.DropOne(ctx, index.Name)
		if command := (mongo.CommandError{}); err != nil && !(errors.As(err, &command) && command.HasErrorCode(indexNotFound)) {
			return err
		}
	}
	return nil
}

// differs reports that an index with that name, or with these keys, exists with other options.
func differs(err error) bool {
	const optionsConflict, keySpecsConflict = 85, 86
	var command mongo.CommandError
	return errors.As(err, &command) && (command.HasErrorCode(optionsConflict) || command.HasErrorCode(keySpecsConflict))
}

// remake replaces indexes that differ, one by one.
func remake(ctx context.Context, view mongo.IndexView, models []mongo.IndexModel) error {
	for _, m := range models {
		_, err := view.CreateOne(ctx, m)
		if differs(err) {
			if err := view.DropWithKey(ctx, m.Keys); err != nil {
				return err
			}
			_, err = view.CreateOne(ctx, m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func model(index query.Index) mongo.IndexModel {
	opts := options.Index()
	if index.Unique {
		opts.SetUnique(true)
	}
	if index.Sparse {
		opts.SetSparse(true)
	}
	if index.Partial != nil {
		opts.SetPartialFilterExpression(index.Partial)
	}
	if index.TTL {
		opts.SetExpireAfterSeconds(0)
	}
	return mongo.IndexModel{Keys: index.Keys, Options: opts}
}
