package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/protobson"
	"github.com/orch-project/orch/services/orchestration/internal/hourtotals"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// Collection stores documents of one kind.
type Collection[M proto.Message] struct {
	store        *Store
	mongo        *mongo.Collection
	local        *mongo.Collection // Reads what a crash may undo, for bases of a compare-and-set only.
	empty        M
	versionCache *versionCache    // nil for a collection without a version cache.
	shared       bool             // See ClientIDs.
	kind         *hourtotals.Kind // nil for a collection without hour totals.
}

// Option configures a collection.
type Option func(*features)

type features struct{ versions, clientIDs bool }

// VersionCache keeps the versions of recently written documents, so repeated changes of a document need no read. It requires ids that
// the server generates. If a client could reuse the id of a deleted document, the new document's revision could equal the cached one.
func VersionCache(f *features) { f.versions = true }

// ClientIDs is for ids that clients choose, which are unique only within a workspace. A document is stored under its id unless another
// workspace has a document with that id. Then it is stored under a collision key, with its id in the field "id", and with shared_id set,
// which the message must have as an internal field.
func ClientIDs(f *features) { f.clientIDs = true }

// NewCollection returns the collection with a name; its documents hold messages of the type of empty.
func NewCollection[M proto.Message](s *Store, name query.Collection, empty M, opts ...Option) *Collection[M] {
	var f features
	for _, o := range opts {
		o(&f)
	}
	local := s.db.Collection(string(name), options.Collection().SetReadConcern(readconcern.Local()))
	c := &Collection[M]{
		store: s, mongo: s.db.Collection(string(name)), local: local, empty: empty, shared: f.clientIDs, kind: hourtotals.KindOf(name),
	}
	if f.versions {
		c.versionCache = &versionCache{versions: map[uuid.UUID]version{}}
	}
	return c
}

// Store returns the store of the collection.
func (c *Collection[M]) Store() *Store { return c.store }

// Name returns the collection's name.
func (c *Collection[M]) Name() query.Collection { return query.Collection(c.mongo.Name()) }

// Insert inserts a document together with its effects, and sets its times. It returns ErrDuplicate, and writes nothing,
// when a unique key exists. The id of a deleted document can be reused: Insert first executes the effects of that
// document.
func (c *Collection[M]) Insert(ctx context.Context, ws uuid.UUID, m M, effects ...Effect) error {
	if err := distinct(effects); err != nil {
		return fmt.Errorf("insert %s: %w", c.Name(), err)
	}
	effects = traced(ctx, effects)
	stamp(m, c.store.Now(), true)
	id := documentID(m)
	revision := first(id)
	doc, err := envelope(ws, revision, effects, m, time.Time{})
	if err != nil {
		return fmt.Errorf("insert %s: %w", c.Name(), err)
	}
	err = c.insertOne(ctx, doc)
	if mongo.IsDuplicateKeyError(err) {
		freed, failed := c.reclaimDeleted(ctx, id)
		if failed != nil {
			return fmt.Errorf("insert %s: %w", c.Name(), failed)
		}
		if freed {
			err = c.insertOne(ctx, doc)
		}
	}
	if err != nil {
		if mongo.IsDuplicateKeyError(err) {
			return fmt.Errorf("insert %s: %w", c.Name(), ErrDuplicate)
		}
		return fmt.Errorf("insert %s: %w", c.Name(), outage(err))
	}
	// The outbox of a new document holds the effects of this write and no others.
	c.written(ws, revision, m, effects)
	return nil
}

func (c *Collection[M]) insertOne(ctx context.Context, doc bson.Raw) error {
	if err := c.prepare(ctx, []bson.Raw{doc}); err != nil {
		return err
	}
	if d := c.store.direct; d != nil {
		return d.insert(ctx, c.mongo.Database().Name(), c.mongo.Name(), []bson.Raw{doc})
	}
	_, err := c.mongo.InsertOne(ctx, doc)
	return err
}

// reclaimDeleted removes the deleted document that still has an id. A deleted document's workspace is its id. It reports whether
// another attempt is worthwhile: it is not while a live document has the id.
func (c *Collection[M]) reclaimDeleted(ctx context.Context, id uuid.UUID) (bool, error) {
	err := c.mongo.FindOne(ctx, DocumentKey{Workspace: id, ID: id}.filter(), options.FindOne().SetProjection(bson.D{{Key: "_id", Value: 1}})).Err()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return true, nil // It was removed concurrently, or another document has a key.
	}
	if err != nil {
		return false, outage(err)
	}
	return true, c.store.relay.Settle(ctx, c.Name(), id)
}

// InsertNew inserts the documents whose ids do not exist; it leaves existing documents unchanged. When the primary steps down
// during the command, it inserts the rest on the new primary.
func (c *Collection[M]) InsertNew(ctx context.Context, docs []bson.Raw) error {
	if len(docs) == 0 {
		return nil
	}
	_, err := c.insertAll(ctx, docs)
	if errors.Is(err, ErrUnavailable) && ctx.Err() == nil && !mongo.IsTimeout(err) {
		_, err = c.insertAll(ctx, docs)
	}
	return err
}

// DeleteMany removes documents without effects that belong to another document. It waits for a majority like every other write, also in
// the handlers of effects: the next primary may have the write that removes the effect, and then nothing deletes the dependents again.
func (c *Collection[M]) DeleteMany(ctx context.Context, ws uuid.UUID, filter bson.D) error {
	if err := c.openMatching(ctx, query.Scope(ws, filter)); err != nil {
		return fmt.Errorf("delete %ss: %w", c.Name(), err)
	}
	if _, err := c.mongo.DeleteMany(ctx, query.Scope(ws, filter)); err != nil {
		return fmt.Errorf("delete %ss: %w", c.Name(), outage(err))
	}
	return nil
}

// Decode decodes a message from its stored form.
func (c *Collection[M]) Decode(raw bson.Raw) (M, error) {
	m := NewMessage(c)
	if c.shared {
		var err error
		if raw, err = plain(raw); err != nil {
			return m, fmt.Errorf("decode stored %s: %w", c.Name(), err)
		}
	}
	if err := protobson.UnmarshalDocument(raw, m); err != nil {
		return m, fmt.Errorf("decode stored %s: %w", c.Name(), err)
	}
	return m, nil
}

// envelope returns the stored form of a message.
func envelope(ws uuid.UUID, revision Revision, effects []Effect, m proto.Message, expire time.Time) (bson.Raw, error) {
	scratch := scratches.Get().(*[]byte)
	defer scratches.Put(scratch)
	doc, err := appendEnvelope((*scratch)[:0], ws, revision, effects, m, expire)
	if err != nil {
		return nil, err
	}
	if cap(doc) <= maxScratch {
		*scratch = doc
	}
	return bytes.Clone(doc), nil
}

// appendEnvelope appends the stored form of a message. After an error dst is unchanged.
func appendEnvelope(dst []byte, ws uuid.UUID, revision Revision, effects []Effect, m proto.Message, expire time.Time) ([]byte, error) {
	start, doc := bsoncore.AppendDocumentStart(dst)
	doc, err := protobson.AppendDocument(doc, m)
	if err != nil {
		return dst, err
	}
	return endEnvelope(doc, start, ws, revision, effects, expire), nil
}

// endEnvelope appends the fields of the envelope and ends the document.
func endEnvelope(doc []byte, start int32, ws uuid.UUID, revision Revision, effects []Effect, expire time.Time) []byte {
	doc = bsoncore.AppendBinaryElement(doc, "ws", bson.TypeBinaryUUID, ws[:])
	doc = revision.append(doc)
	if len(effects) > 0 {
		doc = appendEffects(doc, "outbox", effects)
	}
	if !expire.IsZero() {
		doc = bsoncore.AppendTimeElement(doc, "expire_at", expire)
	}
	return end(doc, start)
}

// scratches holds *[]byte in which documents of unknown length are encoded. It drops large buffers, so one large
// document does not hold its memory forever.
var scratches = sync.Pool{New: func() any { b := make([]byte, 0, 2048); return &b }}

const maxScratch = 64 << 10

// unchanging is the revision of documents that InsertNew inserts.
var unchanging = Revision{Revision: 1}

// NewDocument returns the stored form of a document for InsertNew. It is removed some time after expire; the zero time
// keeps it.
func NewDocument(ws uuid.UUID, m proto.Message, expire time.Time) (bson.Raw, error) {
	doc, err := envelope(ws, unchanging, nil, m, expire)
	return doc, encoding(m, err)
}

// AppendDocument is NewDocument for a caller that encodes many documents into memory of its own. After an error dst is
// unchanged.
func AppendDocument(dst []byte, ws uuid.UUID, m proto.Message, expire time.Time) ([]byte, error) {
	doc, err := appendEnvelope(dst, ws, unchanging, nil, m, expire)
	return doc, encoding(m, err)
}

// AppendEncoded is AppendDocument for a caller that encodes the fields of a message itself, as protobson does.
func AppendEncoded(dst []byte, ws uuid.UUID, expire time.Time, appendFields func(dst []byte) []byte) []byte {
	start, doc := bsoncore.AppendDocumentStart(dst)
	return endEnvelope(appendFields(doc), start, ws, unchanging, nil, expire)
}

// encoding is the error of encoding a document; nil if there is none.
func encoding(m proto.Message, err error) error {
	if err != nil {
		return fmt.Errorf("encode %s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	return nil
}

// NewMessage returns an empty message of the collection's type.
func NewMessage[M proto.Message](c *Collection[M]) M {
	return c.empty.ProtoReflect().New().Interface().(M)
}
