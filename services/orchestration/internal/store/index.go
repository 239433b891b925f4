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
	for _, set := range indexSets(indexes) {
		if err := s.ensure(ctx, set); err != nil {
			return err
		}
	}
	return nil
}

// indexSet are the indexes of a collection.
type indexSet struct {
	collection  query.Collection
	all, unique []mongo.IndexModel
}

// indexSets groups indexes by their collection, in order of the first of each.
func indexSets(indexes []query.Index) (sets []indexSet) {
	for _, index := range indexes {
		at := slices.IndexFunc(sets, func(s indexSet) bool { return s.collection == index.Collection })
		if at < 0 {
			at = len(sets)
			sets = append(sets, indexSet{collection: index.Collection})
		}
		set := &sets[at]
		set.all = append(set.all, model(index))
		if index.Unique {
			set.unique = append(set.unique, model(index))
		}
	}
	return sets
}

// ensure creates the indexes of a collection and then drops its retired ones, which serve queries until then.
func (s *Store) ensure(ctx context.Context, set indexSet) error {
	if err := s.create(ctx, set.collection, set.all); err != nil {
		return err
	}
	if retired := query.Retired()[set.collection]; len(retired) > 0 {
		if err := dropIndexes(ctx, s.db.Collection(string(set.collection)).Indexes(), retired); err != nil {
			return fmt.Errorf("drop retired indexes of %s: %w", set.collection, outage(err))
		}
	}
	return nil
}

// create creates indexes of a collection, and replaces those with other options.
func (s *Store) create(ctx context.Context, collection query.Collection, models []mongo.IndexModel) error {
	view := s.db.Collection(string(collection)).Indexes()
	// A member that is down must not hold up the build: the default waits for all members that vote.
	quorum := options.CreateIndexes().SetCommitQuorumMajority()
	_, err := view.CreateMany(ctx, models, quorum)
	if differs(err) {
		err = remake(ctx, view, models, quorum)
	}
	if err != nil {
		return fmt.Errorf("create indexes of %s: %w", collection, outage(err))
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
func remake(ctx context.Context, view mongo.IndexView, models []mongo.IndexModel, quorum *options.CreateIndexesOptionsBuilder) error {
	for _, m := range models {
		_, err := view.CreateOne(ctx, m, quorum)
		if differs(err) {
			if err := view.DropWithKey(ctx, m.Keys); err != nil {
				return err
			}
			_, err = view.CreateOne(ctx, m, quorum)
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
