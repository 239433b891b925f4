package store

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/vocabulary"
)

// FormatVersion is the version of the documents' form that this program reads and writes.
const FormatVersion = 1

// ErrFormat means that the database was written by a server of another version or vocabulary. Nothing was changed.
var ErrFormat = errors.New("the database is not for this server")

// metaName is the collection that holds what the database is.
const metaName = "meta"

type format struct {
	ID         string `bson:"_id"`
	Version    int64  `bson:"version"`
	Vocabulary string `bson:"vocabulary"`
}

// Claim writes the format and the vocabulary into a database at its first start, and refuses one that holds others:
// names are stored as they were said, and would be said differently.
func (s *Store) Claim(ctx context.Context, vocab vocabulary.Vocabulary) error {
	meta := s.db.Collection(metaName)
	var found format
	err := meta.FindOneAndUpdate(ctx, bson.D{{Key: "_id", Value: "format"}},
		bson.D{{Key: "$setOnInsert", Value: bson.D{{Key: "version", Value: int64(FormatVersion)}, {Key: "vocabulary", Value: vocab.String()}}}},
		options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)).Decode(&found)
	if mongo.IsDuplicateKeyError(err) { // Another replica was first.
		err = meta.FindOne(ctx, bson.D{{Key: "_id", Value: "format"}}).Decode(&found)
	}
	switch {
	case err != nil:
		return fmt.Errorf("read the database's format: %w", outage(err))
	case found.Version != FormatVersion:
		return fmt.Errorf("%w: it has format %d, this server speaks %d", ErrFormat, found.Version, FormatVersion)
	case found.Vocabulary != vocab.String():
		return fmt.Errorf("%w: it was written in the vocabulary %q, this server is set to %q (--vocabulary %s)",
			ErrFormat, found.Vocabulary, vocab, found.Vocabulary)
	}
	return nil
}
