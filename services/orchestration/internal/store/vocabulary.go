package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/vocabulary"
)

// ErrUnused reports a database without names: no server has used it, or no client has written.
var ErrUnused = errors.New("no server has used the database")

// Vocabulary reads the mark of the database: a vocabulary, or a conversion that is not complete.
func (s *Store) Vocabulary(ctx context.Context) (mark string, err error) {
	found, err := s.format(ctx)
	switch {
	case errors.Is(err, mongo.ErrNoDocuments), err == nil && found.Vocabulary == vocabulary.Undecided.String():
		return "", fmt.Errorf("read the vocabulary of database %s: %w", s.db.Name(), ErrUnused)
	case err != nil:
		return "", fmt.Errorf("read the vocabulary of database %s: %w", s.db.Name(), outage(err))
	case found.Version > FormatVersion:
		return "", fmt.Errorf("%w: format %d, this version supports %d", ErrFormat, found.Version, FormatVersion)
	}
	return found.Vocabulary, nil
}

// SetVocabulary replaces the mark of the database by compare-and-set.
func (s *Store) SetVocabulary(ctx context.Context, from, to string) error {
	result, err := s.db.Collection(metaName).UpdateOne(ctx, bson.D{{Key: "_id", Value: "format"}, {Key: "vocabulary", Value: from}},
		bson.D{{Key: "$set", Value: bson.D{{Key: "vocabulary", Value: to}}}})
	if err == nil && result.MatchedCount == 0 {
		err = fmt.Errorf("%w: the mark is not %q any more", ErrFormat, from)
	}
	if err != nil {
		return fmt.Errorf("mark the database as %q: %w", to, outage(err))
	}
	return nil
}

// conversionID is the document of the state of a conversion, in the collection of the format.
const conversionID = "conversion"

// ReadConversion reads the state of a conversion into a pointer. It leaves it unchanged if there is none.
func (s *Store) ReadConversion(ctx context.Context, state any) error {
	err := s.db.Collection(metaName).FindOne(ctx, bson.D{{Key: "_id", Value: conversionID}}).Decode(state)
	if err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
		return fmt.Errorf("read the state of the conversion: %w", outage(err))
	}
	return nil
}

// WriteConversion replaces the state of a conversion.
func (s *Store) WriteConversion(ctx context.Context, state any) error {
	_, err := s.db.Collection(metaName).ReplaceOne(ctx, bson.D{{Key: "_id", Value: conversionID}}, state, options.Replace().SetUpsert(true))
	if err != nil {
		return fmt.Errorf("write the state of the conversion: %w", outage(err))
	}
	return nil
}

// RemoveConversion removes the state of a conversion.
func (s *Store) RemoveConversion(ctx context.Context) error {
	if _, err := s.db.Collection(metaName).DeleteOne(ctx, bson.D{{Key: "_id", Value: conversionID}}); err != nil {
		return fmt.Errorf("remove the state of the conversion: %w", outage(err))
	}
	return nil
}

// HeldLease returns the lease that is held longest, and until when; the name is empty if no process holds one.
func (s *Store) HeldLease(ctx context.Context) (name string, until time.Time, err error) {
	var lease struct {
		Name  string `bson:"_id"`
		Until int64  `bson:"until"`
	}
	err = s.db.Collection(leaseName).FindOne(ctx, bson.D{{Key: "until", Value: bson.D{{Key: "$gt", Value: s.Now().UnixMicro()}}}},
		options.FindOne().SetSort(bson.D{{Key: "until", Value: -1}})).Decode(&lease)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return "", time.Time{}, nil
	}
	if err != nil {
		return "", time.Time{}, fmt.Errorf("read leases: %w", outage(err))
	}
	return lease.Name, time.UnixMicro(lease.Until), nil
}

// Database returns the database, for a conversion, which rewrites documents in their stored form.
func (s *Store) Database() *mongo.Database { return s.db }

// Plain returns a stored document under its id. Documents under shared keys have it elsewhere.
func Plain(doc bson.Raw) (bson.Raw, error) { return plain(doc) }
