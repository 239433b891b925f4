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
	"github.com/orch-project/orch/services/orchestration/internal/hourtotals"
)

// FormatVersion is the document format that this program reads and writes. It is one more than the last migration's.
const FormatVersion = 2

// ErrFormat means that a server of another version or vocabulary wrote the database. Nothing was changed.
var ErrFormat = errors.New("database belongs to another server version or vocabulary")

// metaName is the collection with the format and the vocabulary.
const metaName = "meta"

type format struct {
	ID         string `bson:"_id"`
	Version    int64  `bson:"version"`
	Vocabulary string `bson:"vocabulary"`
	// Program is the version of the program that claimed the database last; empty if no version recorded it.
	Program string `bson:"program,omitempty"`
	// Changed is when a migration changed the version last, in microseconds of the primary; 0 if none has.
	Changed int64 `bson:"changed,omitempty"`
	// Names says that the dictionary has the names of all documents.
	Names bool `bson:"names,omitempty"`
}

// Claim writes the format and the vocabulary into a new database, migrates one of an earlier format, and records the version of the program. It
// refuses a database of a later format or another vocabulary: stored names are in the vocabulary that wrote them. A database that was claimed
// with the vocabulary Undecided contains no names yet, so the next claim decides.
func (s *Store) Claim(ctx context.Context, vocab vocabulary.Vocabulary) error {
	if err := s.claim(ctx, vocab, FormatVersion, migrations); err != nil {
		return err
	}
	found, err := s.format(ctx)
	if err != nil {
		return fmt.Errorf("read database format: %w", outage(err))
	}
	if s.program != "" && s.program != found.Program {
		_, err := s.db.Collection(metaName).UpdateOne(ctx, bson.D{{Key: "_id", Value: "format"}}, bson.D{{Key: "$set", Value: bson.D{{Key: "program", Value: s.program}}}})
		if err != nil {
			return fmt.Errorf("record the version of the program: %w", outage(err))
		}
	}
	if err := s.names.Ensure(ctx); err != nil {
		return outage(err)
	}
	if found.Names {
		s.names.Complete()
	}
	if found.Changed == 0 {
		s.totals.Trust(time.Time{})
	} else {
		s.totals.Trust(time.UnixMicro(found.Changed).Add(hourtotals.TrustAfter))
	}
	return nil
}

func (s *Store) claim(ctx context.Context, vocab vocabulary.Vocabulary, supported int64, steps []Migration) error {
	meta := s.db.Collection(metaName)
	var found format
	err := meta.FindOneAndUpdate(ctx, bson.D{{Key: "_id", Value: "format"}},
		bson.D{{Key: "$setOnInsert", Value: bson.D{{Key: "version", Value: supported}, {Key: "vocabulary", Value: vocab.String()}, {Key: "names", Value: true}}}},
		options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)).Decode(&found)
	if mongo.IsDuplicateKeyError(err) { // Another replica was first.
		found, err = s.format(ctx)
	}
	if err == nil && found.Vocabulary == vocabulary.Undecided.String() && found.Version <= supported {
		found, err = s.decide(ctx, vocab)
	}
	switch {
	case err != nil:
		return fmt.Errorf("read database format: %w", outage(err))
	case found.Version > supported:
		return fmt.Errorf("%w: format %d, this server supports %d: install the newer version again, or restore a backup",
			ErrFormat, found.Version, supported)
	case found.Vocabulary != vocab.String():
		if c, ok := vocabulary.ParseConversion(found.Vocabulary); ok {
			return fmt.Errorf("%w: %w", ErrFormat, c.Err())
		}
		return fmt.Errorf("%w: written with the vocabulary %q, this server is set to %q (--vocabulary %s)",
			ErrFormat, found.Vocabulary, vocab, found.Vocabulary)
	case found.Version < supported:
		return s.migrate(ctx, found.Version, supported, steps)
	}
	return nil
}

// decide writes the vocabulary into a database that is undecided, and returns its format. Of concurrent claims one decides.
func (s *Store) decide(ctx context.Context, vocab vocabulary.Vocabulary) (format, error) {
	_, err := s.db.Collection(metaName).UpdateOne(ctx,
		bson.D{{Key: "_id", Value: "format"}, {Key: "vocabulary", Value: vocabulary.Undecided.String()}},
		bson.D{{Key: "$set", Value: bson.D{{Key: "vocabulary", Value: vocab.String()}}}})
	if err != nil {
		return format{}, err
	}
	return s.format(ctx)
}

// format reads the format of a database; mongo.ErrNoDocuments means that it is new.
func (s *Store) format(ctx context.Context) (found format, err error) {
	err = s.db.Collection(metaName).FindOne(ctx, bson.D{{Key: "_id", Value: "format"}}).Decode(&found)
	return found, err
}
