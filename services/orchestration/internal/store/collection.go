package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
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

// NewCollection returns the collection with a name; its documents hold messages of the type of empty.
func NewCollection[M proto.Message](s *Store, name query.Collection, empty M) *Collection[M] {
	local := s.db.Collection(string(name), options.Collection().SetReadConcern(readconcern.Local()))
	return &Collection[M]{store: s, mongo: s.db.Collection(string(name)), local: local, empty: empty, kind: hourtotals.KindOf(name)}
}

// WithVersionCache returns the same collection with a version cache, so repeated changes of a document need no read. It
// requires ids that the server generates. If a client could reuse the id of a deleted document, the new document's
// revision could equal the cached one.
func (c *Collection[M]) WithVersionCache() *Collection[M] {
	cached := *c
	cached.versionCache = &versionCache{versions: map[uuid.UUID]version{}}
	return &cached
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
	c.written(ws, revision, m, effects, c.versionCache.start())
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

// InsertStorable is InsertNew for documents that do not depend on each other: it also returns those that the database refuses,
// and stores the others.
func (c *Collection[M]) InsertStorable(ctx context.Context, docs []bson.Raw) ([]Refusal, error) {
	_, refused, err := c.insertMany(ctx, docs)
	return refused, err
}

// Get reads a document by its id, or returns ErrNotFound.
func (c *Collection[M]) Get(ctx context.Context, ws, id uuid.UUID) (M, error) {
	m, _, err := c.byID(ctx, c.mongo, ws, id)
	return m, err
}

// First reads a matching document, or returns ErrNotFound.
func (c *Collection[M]) First(ctx context.Context, ws uuid.UUID, filter bson.D) (M, error) {
	return c.first(ctx, c.mongo, ws, filter)
}

// GetRaw is Get for a caller that uses the stored document. It is without its outbox.
func (c *Collection[M]) GetRaw(ctx context.Context, ws, id uuid.UUID) (bson.Raw, error) {
	return c.rawByID(ctx, c.mongo, ws, id, withoutOutbox)
}

func (c *Collection[M]) firstRaw(
	ctx context.Context, from *mongo.Collection, ws uuid.UUID, filter bson.D, opts *options.FindOneOptionsBuilder,
) (bson.Raw, error) {
	raw, err := from.FindOne(ctx, query.Scope(ws, filter), opts).Raw()
	return c.found(raw, err)
}

// found returns a read document, or the error of its reader in the terms of the store.
func (c *Collection[M]) found(raw bson.Raw, err error) (bson.Raw, error) {
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, fmt.Errorf("read %s: %w", c.Name(), ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", c.Name(), outage(err))
	}
	return raw, nil
}

func (c *Collection[M]) first(ctx context.Context, from *mongo.Collection, ws uuid.UUID, filter bson.D) (M, error) {
	raw, err := c.firstRaw(ctx, from, ws, filter, options.FindOne().SetProjection(withoutOutbox))
	if err != nil {
		var none M
		return none, err
	}
	return c.decode(raw)
}

// withoutOutbox excludes the outbox, which readers never need and which may be long.
var withoutOutbox = func() bson.Raw {
	start, doc := bsoncore.AppendDocumentStart(nil)
	return end(bsoncore.AppendInt32Element(doc, "outbox", 0), start)
}()

// Find reads the matching documents, in order. A limit of 0 means none; -1 means all.
func (c *Collection[M]) Find(ctx context.Context, ws uuid.UUID, filter, sort bson.D, offset, limit int64) ([]M, error) {
	if limit == 0 {
		return nil, nil
	}
	opts := options.Find().SetSort(sort).SetSkip(offset).SetProjection(withoutOutbox)
	if limit > 0 {
		opts.SetLimit(limit).SetBatchSize(int32(min(limit, 1000)))
	}
	return c.find(ctx, ws, filter, opts)
}

// FindWithout is Find of all documents without some fields, for documents that are mostly those.
func (c *Collection[M]) FindWithout(ctx context.Context, ws uuid.UUID, filter, sort bson.D, fields ...string) ([]M, error) {
	projection := bson.D{{Key: "outbox", Value: 0}}
	for _, name := range fields {
		projection = append(projection, bson.E{Key: name, Value: 0})
	}
	return c.find(ctx, ws, filter, options.Find().SetSort(sort).SetProjection(projection))
}

// FindBy reads the first matching documents, in order, by the index with those keys. Use it when the selectivity is known. A limit of 0 means all; no sort means the order of the index. While the index is being built, the database
// chooses.
func (c *Collection[M]) FindBy(ctx context.Context, ws uuid.UUID, index, filter, sort bson.D, limit int64) ([]M, error) {
	opts := options.Find().SetLimit(limit).SetProjection(withoutOutbox)
	switch incomplete := c.store.incomplete.has(c.Name()); {
	case !incomplete:
		opts.SetHint(index)
	case sort == nil:
		sort = index
	}
	if sort != nil {
		opts.SetSort(sort)
	}
	return c.find(ctx, ws, filter, opts)
}

// maxAnswerBytes bounds what FindAll reads, as the documents are stored.
const maxAnswerBytes = 32 << 20

// FindAll reads all matching documents, in order, for an answer without pages. It returns ErrTooLargeAnswer if they are too large together.
func (c *Collection[M]) FindAll(ctx context.Context, ws uuid.UUID, filter, sort bson.D) ([]M, error) {
	found, more, err := c.FindWithin(ctx, ws, filter, Page{Sort: sort, Bytes: maxAnswerBytes})
	if err == nil && more {
		err = fmt.Errorf("find %ss: %w", c.Name(), ErrTooLargeAnswer)
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Page bounds what FindWithin reads.
type Page struct {
	// Sort is the order, and Index the keys of the index to read by; see Projection.
	Sort, Index bson.D
	// Limit bounds the number of documents; 0 means none.
	Limit int
	// Bytes bounds the size of the documents as they are stored.
	Bytes int
}

// FindWithin reads the first matching documents, in order: at least one, and no more than a page has. It reports whether there are more.
func (c *Collection[M]) FindWithin(ctx context.Context, ws uuid.UUID, filter bson.D, p Page) (found []M, more bool, err error) {
	opts := options.Find().SetProjection(withoutOutbox).SetSort(p.Sort)
	if p.Limit > 0 {
		opts.SetLimit(int64(p.Limit) + 1)
	}
	if p.Index != nil && !c.store.incomplete.has(c.Name()) {
		opts.SetHint(p.Index)
	}
	size := p.Bytes
	cursor, err := query.Find(ctx, c.mongo, query.Scope(ws, filter), opts)
	if err != nil {
		return nil, false, fmt.Errorf("find %ss: %w", c.Name(), outage(err))
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for cursor.Next(ctx) {
		if size -= len(cursor.Current); p.Limit > 0 && len(found) == p.Limit || size < 0 && len(found) > 0 {
			return found, true, nil
		}
		m, err := c.decode(cursor.Current)
		if err != nil {
			return nil, false, err
		}
		found = append(found, m)
	}
	if err := cursor.Err(); err != nil {
		return nil, false, fmt.Errorf("find %ss: %w", c.Name(), outage(err))
	}
	return found, false, nil
}

func (c *Collection[M]) find(ctx context.Context, ws uuid.UUID, filter bson.D, opts *options.FindOptionsBuilder) ([]M, error) {
	cursor, err := query.Find(ctx, c.mongo, query.Scope(ws, filter), opts)
	if err != nil {
		return nil, fmt.Errorf("find %ss: %w", c.Name(), outage(err))
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	var found []M
	for cursor.Next(ctx) {
		m, err := c.decode(cursor.Current)
		if err != nil {
			return nil, err
		}
		found = append(found, m)
	}
	if err := cursor.Err(); err != nil {
		return nil, fmt.Errorf("find %ss: %w", c.Name(), outage(err))
	}
	return found, nil
}

// Count counts the matching documents, including all acknowledged writes.
func (c *Collection[M]) Count(ctx context.Context, ws uuid.UUID, filter bson.D) (int64, error) {
	return c.CountUpTo(ctx, ws, filter, 0)
}

// CountUpTo is Count, and stops at a limit; 0 means none.
func (c *Collection[M]) CountUpTo(ctx context.Context, ws uuid.UUID, filter bson.D, limit int64) (int64, error) {
	n, err := c.store.count(ctx, c.Name(), query.Scope(ws, filter), limit)
	if err != nil {
		return 0, fmt.Errorf("count %ss: %w", c.Name(), err)
	}
	return n, nil
}

// Distinct returns the distinct texts of a field of the matching documents, in order.
func (c *Collection[M]) Distinct(ctx context.Context, ws uuid.UUID, field string, filter bson.D) ([]string, error) {
	var texts []string
	if err := c.mongo.Distinct(ctx, field, query.Scope(ws, filter)).Decode(&texts); err != nil {
		return nil, fmt.Errorf("find distinct %s of %ss: %w", field, c.Name(), outage(err))
	}
	return texts, nil
}

// Each calls visit with the matching documents, in order, until it returns false.
func (c *Collection[M]) Each(ctx context.Context, ws uuid.UUID, filter, sort bson.D, visit func(M) bool) error {
	cursor, err := c.scanning(ctx, query.Scope(ws, filter), options.Find().SetProjection(withoutOutbox).SetSort(sort))
	if err != nil {
		return fmt.Errorf("scan %ss: %w", c.Name(), outage(err))
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for cursor.Next(ctx) {
		m, err := c.decode(cursor.Current)
		if err != nil {
			return err
		}
		if !visit(m) {
			return nil
		}
	}
	if err := cursor.Err(); err != nil {
		return fmt.Errorf("scan %ss: %w", c.Name(), outage(err))
	}
	return nil
}

// Projection is a read of fields in place of documents.
type Projection struct {
	Fields []string
	// Sort is the order; none for nil.
	Sort bson.D
	// Index has the keys of the index to read by, for a caller that knows better than the database; nil lets the database choose. While
	// the index is being built, the database chooses too.
	Index bson.D
	// Skip is the number of results that are left out. Limit bounds the number of the others; 0 means none.
	Skip, Limit int64
}

// EachProjected calls visit with fields of the matching documents, until it returns false. The bytes are valid until visit returns.
// Fields that an index has are read from its keys.
func (c *Collection[M]) EachProjected(ctx context.Context, ws uuid.UUID, filter bson.D, p Projection, visit func(bson.Raw) bool) error {
	fields := bson.D{}
	for _, name := range p.Fields {
		fields = append(fields, bson.E{Key: name, Value: 1})
	}
	if !slices.Contains(p.Fields, "_id") {
		fields = append(fields, bson.E{Key: "_id", Value: 0})
	}
	opts := options.Find().SetProjection(fields).SetSkip(p.Skip).SetLimit(p.Limit)
	if p.Sort != nil {
		opts.SetSort(p.Sort)
	}
	if p.Index != nil && !c.store.incomplete.has(c.Name()) {
		opts.SetHint(p.Index)
	}
	cursor, err := query.Find(ctx, c.mongo, query.Scope(ws, filter), opts)
	if err != nil {
		return fmt.Errorf("read fields of %ss: %w", c.Name(), outage(err))
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for cursor.Next(ctx) {
		if !visit(cursor.Current) {
			return nil
		}
	}
	if err := cursor.Err(); err != nil {
		return fmt.Errorf("read fields of %ss: %w", c.Name(), outage(err))
	}
	return nil
}

// Aggregate runs a pipeline over the matching documents, and decodes its rows into the slice that out points to.
func (c *Collection[M]) Aggregate(ctx context.Context, ws uuid.UUID, filter bson.D, stages []bson.D, out any) error {
	pipeline := append([]bson.D{{{Key: "$match", Value: query.Scope(ws, filter)}}}, stages...)
	cursor, err := query.Aggregate(ctx, c.mongo, pipeline)
	if err != nil {
		return fmt.Errorf("aggregate %ss: %w", c.Name(), outage(err))
	}
	if err := cursor.All(ctx, out); err != nil {
		return fmt.Errorf("aggregate %ss: %w", c.Name(), outage(err))
	}
	return nil
}

// DeleteMany removes documents without effects that belong to another document.
func (c *Collection[M]) DeleteMany(ctx context.Context, ws uuid.UUID, filter bson.D) error {
	if err := c.openMatching(ctx, query.Scope(ws, filter)); err != nil {
		return fmt.Errorf("delete %ss: %w", c.Name(), err)
	}
	if _, err := c.mongo.DeleteMany(ctx, query.Scope(ws, filter)); err != nil {
		return fmt.Errorf("delete %ss: %w", c.Name(), outage(err))
	}
	return nil
}

// DeleteDependents is DeleteMany for the handlers of effects. It waits for a majority like every other write: the next primary may
// have the write that removes the effect, and then nothing deletes the dependents again.
func (c *Collection[M]) DeleteDependents(ctx context.Context, ws uuid.UUID, filter bson.D) error {
	return c.DeleteMany(ctx, ws, filter)
}

func (c *Collection[M]) decode(raw bson.Raw) (M, error) {
	m := c.New()
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

// GetRevision reads a document and its revision, or returns ErrNotFound.
func (c *Collection[M]) GetRevision(ctx context.Context, ws, id uuid.UUID) (M, int64, error) {
	m, revision, err := c.byID(ctx, c.mongo, ws, id)
	return m, revision.Revision, err
}

// Decode decodes a message from its stored form.
func (c *Collection[M]) Decode(raw bson.Raw) (M, error) { return c.decode(raw) }

// New returns an empty message of the collection's type.
func (c *Collection[M]) New() M { return c.empty.ProtoReflect().New().Interface().(M) }
