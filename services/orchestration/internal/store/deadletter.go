package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// deadLetterName is the collection of effects that failed permanently.
const deadLetterName = string(query.DeadLetter)

// DeadLetter is an effect that failed permanently.
type DeadLetter struct {
	// ID is the effect's id.
	ID   uuid.UUID
	Kind string
	// Collection and Document name the document whose write caused the effect. It may have been deleted.
	Collection query.Collection
	Document   uuid.UUID
	// DocumentWorkspace is the workspace of the document as in DocumentKey; uuid.Nil in letters of earlier versions.
	DocumentWorkspace uuid.UUID
	// Workspace owns the effect.
	Workspace uuid.UUID
	// At is the time of the cause, FailedAt the time of the last failure.
	At, FailedAt time.Time
	Attempts     int
	// Reason is the last error, at most 1 KiB.
	Reason string
	// Blocking reports that the effect is still in its document's outbox, and that the effects behind it wait.
	Blocking bool
	// Expires is when the letter is removed; the zero time means that it stays.
	Expires time.Time
	// Body is encrypted. The caller of InsertDeadLetter encrypts it.
	Body []byte
}

type storedDeadLetter struct {
	ID         bson.Binary  `bson:"_id"`
	Workspace  bson.Binary  `bson:"ws"`
	Kind       string       `bson:"kind"`
	Collection string       `bson:"collection"`
	Document   bson.Binary  `bson:"document"`
	DocumentWS *bson.Binary `bson:"document_ws,omitempty"`
	At         int64        `bson:"at"`
	FailedAt   int64        `bson:"failed_at"`
	Attempts   int64        `bson:"attempts"`
	Reason     string       `bson:"reason"`
	Blocking   bool         `bson:"blocking"`
	Expires    *time.Time   `bson:"expire_at,omitempty"`
	Body       []byte       `bson:"body"`
}

func (d storedDeadLetter) letter() (DeadLetter, error) {
	letter := DeadLetter{
		Kind: d.Kind, Collection: query.Collection(d.Collection), At: time.UnixMicro(d.At).UTC(), FailedAt: time.UnixMicro(d.FailedAt).UTC(),
		Attempts: int(d.Attempts), Reason: d.Reason, Blocking: d.Blocking, Body: d.Body,
	}
	if d.Expires != nil {
		letter.Expires = d.Expires.UTC()
	}
	for _, field := range []struct {
		to   *uuid.UUID
		from bson.Binary
	}{{&letter.ID, d.ID}, {&letter.Workspace, d.Workspace}, {&letter.Document, d.Document}} {
		parsed, err := uuid.FromBytes(field.from.Data)
		if err != nil {
			return letter, fmt.Errorf("decode dead letter: %w", err)
		}
		*field.to = parsed
	}
	if d.DocumentWS != nil {
		parsed, err := uuid.FromBytes(d.DocumentWS.Data)
		if err != nil {
			return letter, fmt.Errorf("decode dead letter: %w", err)
		}
		letter.DocumentWorkspace = parsed
	}
	return letter, nil
}

// InsertDeadLetter writes a dead letter. It replaces an existing one of the effect, so an effect has at most one.
func (s *Store) InsertDeadLetter(ctx context.Context, d DeadLetter) error {
	doc := storedDeadLetter{
		ID: Binary(d.ID), Workspace: Binary(d.Workspace), Kind: d.Kind, Collection: string(d.Collection), Document: Binary(d.Document),
		At: d.At.UnixMicro(), FailedAt: d.FailedAt.UnixMicro(), Attempts: int64(d.Attempts), Reason: d.Reason, Blocking: d.Blocking, Body: d.Body,
	}
	if d.DocumentWorkspace != uuid.Nil {
		ws := Binary(d.DocumentWorkspace)
		doc.DocumentWS = &ws
	}
	if !d.Expires.IsZero() {
		doc.Expires = &d.Expires
	}
	_, err := s.db.Collection(deadLetterName).ReplaceOne(ctx, bson.D{{Key: "_id", Value: Binary(d.ID)}}, doc, options.Replace().SetUpsert(true))
	if err != nil && !mongo.IsDuplicateKeyError(err) { // Another process has just written it.
		return fmt.Errorf("write dead letter: %w", outage(err))
	}
	return nil
}

// DeadLetters reads at most limit dead letters in the order of their ids, starting after an id. A workspace restricts
// them; the nil UUID means all workspaces.
func (s *Store) DeadLetters(ctx context.Context, ws, after uuid.UUID, limit int64) ([]DeadLetter, error) {
	filter := bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: Binary(after)}}}}
	if ws != uuid.Nil {
		filter = append(filter, bson.E{Key: "ws", Value: Binary(ws)})
	}
	cursor, err := query.Find(ctx, s.db.Collection(deadLetterName), filter, options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}).SetLimit(limit))
	if err != nil {
		return nil, fmt.Errorf("read dead letters: %w", outage(err))
	}
	var docs []storedDeadLetter
	if err := cursor.All(ctx, &docs); err != nil {
		return nil, fmt.Errorf("read dead letters: %w", outage(err))
	}
	letters := make([]DeadLetter, len(docs))
	for i, doc := range docs {
		if letters[i], err = doc.letter(); err != nil {
			return nil, err
		}
	}
	return letters, nil
}

// DeadLetter reads one dead letter, or returns ErrNotFound.
func (s *Store) DeadLetter(ctx context.Context, id uuid.UUID) (DeadLetter, error) {
	var doc storedDeadLetter
	err := s.db.Collection(deadLetterName).FindOne(ctx, bson.D{{Key: "_id", Value: Binary(id)}}).Decode(&doc)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return DeadLetter{}, fmt.Errorf("read dead letter: %w", ErrNotFound)
	}
	if err != nil {
		return DeadLetter{}, fmt.Errorf("read dead letter: %w", outage(err))
	}
	return doc.letter()
}

// ReplaceDeadLetterBody replaces the body of a dead letter that has not changed since it was read. A missing one is no error.
func (s *Store) ReplaceDeadLetterBody(ctx context.Context, d DeadLetter, body []byte) error {
	filter := bson.D{{Key: "_id", Value: Binary(d.ID)}, {Key: "body", Value: d.Body}}
	if _, err := s.db.Collection(deadLetterName).UpdateOne(ctx, filter, bson.D{{Key: "$set", Value: bson.D{{Key: "body", Value: body}}}}); err != nil {
		return fmt.Errorf("change dead letter: %w", outage(err))
	}
	return nil
}

// RemoveDeadLetter removes a dead letter. A missing one is no error.
func (s *Store) RemoveDeadLetter(ctx context.Context, id uuid.UUID) error {
	if _, err := s.db.Collection(deadLetterName).DeleteOne(ctx, bson.D{{Key: "_id", Value: Binary(id)}}); err != nil {
		return fmt.Errorf("remove dead letter: %w", outage(err))
	}
	return nil
}

// Workspace is the first id in the body of an effect, as ResourceEffect and MessageEffect write it; the nil UUID if there is none.
func (e Effect) Workspace() uuid.UUID {
	if len(e.Body) < idSize {
		return uuid.Nil
	}
	return uuid.UUID(e.Body[:idSize])
}
