package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/tracing"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// Effect is an operation that a write causes elsewhere. It is executed at least once, after the write, in order; it
// must be idempotent.
type Effect struct {
	ID uuid.UUID
	// At is when it was caused.
	At time.Time
	// Kind selects the handler.
	Kind string
	// Body is the argument of the handler.
	Body []byte
	// Trace is the span of the write that caused it; the write sets it while traces are on.
	Trace tracing.Parent
}

// traced returns effects that belong to the trace of ctx. Without one it returns them as they are.
func traced(ctx context.Context, effects []Effect) []Effect {
	parent := tracing.ParentOf(ctx)
	if parent.Trace == "" {
		return effects
	}
	for i := range effects {
		effects[i].Trace = parent
	}
	return effects
}

// KindRemove is the last effect of a deleted document: it removes the document.
const KindRemove = "remove"

// distinct refuses effects with equal ids: removing the first one from the outbox would also remove the second, before
// its execution.
func distinct(effects []Effect) error {
	for i, e := range effects {
		for _, other := range effects[:i] {
			if e.ID == other.ID {
				return fmt.Errorf("effects %q and %q have the same id", other.Kind, e.Kind)
			}
		}
	}
	return nil
}

func appendEffects(doc []byte, key string, effects []Effect) []byte {
	start, doc := bsoncore.AppendArrayElementStart(doc, key)
	for i, e := range effects {
		var one int32
		one, doc = bsoncore.AppendDocumentElementStart(doc, strconv.Itoa(i))
		doc = end(e.append(doc), one)
	}
	return end(doc, start)
}

func (e Effect) append(doc []byte) []byte {
	doc = bsoncore.AppendBinaryElement(doc, "id", bson.TypeBinaryUUID, e.ID[:])
	doc = bsoncore.AppendInt64Element(doc, "at", e.At.UnixMicro())
	doc = bsoncore.AppendStringElement(doc, "kind", e.Kind)
	doc = bsoncore.AppendBinaryElement(doc, "body", bson.TypeBinaryGeneric, e.Body)
	if e.Trace.Trace != "" {
		doc = bsoncore.AppendStringElement(doc, "traceparent", e.Trace.Trace)
	}
	if e.Trace.State != "" {
		doc = bsoncore.AppendStringElement(doc, "tracestate", e.Trace.State)
	}
	return doc
}

// Pending reads the effects of a document that are not executed yet, in order. A missing document has none.
func (s *Store) Pending(ctx context.Context, collection query.Collection, document DocumentKey) ([]Effect, error) {
	cursor, err := query.Find(ctx, s.db.Collection(string(collection)), document.filter(),
		options.Find().SetProjection(bson.D{{Key: "outbox", Value: 1}}).SetLimit(1))
	if err != nil {
		return nil, fmt.Errorf("read outbox of %s: %w", collection, outage(err))
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	var effects []Effect
	if cursor.Next(ctx) {
		if effects, err = effectsOf(cursor.Current); err != nil {
			return nil, err
		}
	}
	return effects, outage(cursor.Err())
}

// Outbox has the effects of one document that are not executed yet.
type Outbox struct {
	DocumentKey
	// Effects are in the order of the writes.
	Effects []Effect
	// Attempts counts the consecutive failures of the first effect. It is 0 for an outbox that was not read.
	Attempts int
	// Deferred reports that the outbox has a failure recorded; see Failure.
	Deferred bool
	// Blocked reports that an effect which others must not overtake is in the dead letters.
	Blocked bool
}

// maxOutboxBytes bounds the outboxes that PendingOf reads at once, as they are stored.
const maxOutboxBytes = 8 << 20

// PendingOf reads the outboxes of several documents. The result omits missing documents; its order is undefined. It reads
// maxOutboxBytes, or one outbox; the caller executes those and asks again for the rest, which may hold missing documents.
func (s *Store) PendingOf(ctx context.Context, collection query.Collection, ids []DocumentKey) (boxes []Outbox, rest []DocumentKey, err error) {
	cursor, err := query.Find(ctx, s.db.Collection(string(collection)), anyOf(ids),
		options.Find().SetProjection(outboxFields).SetBatchSize(int32(len(ids)+1)))
	if err != nil {
		return nil, nil, fmt.Errorf("read outboxes of %d %ss: %w", len(ids), collection, outage(err))
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	boxes = make([]Outbox, 0, len(ids))
	size := 0
	for cursor.Next(ctx) {
		if size += len(cursor.Current); size > maxOutboxBytes && len(boxes) > 0 {
			return boxes, without(ids, boxes), nil
		}
		box, err := outboxOf(cursor.Current)
		if err != nil {
			return nil, nil, err
		}
		boxes = append(boxes, box)
	}
	return boxes, nil, outage(cursor.Err())
}

// without returns the documents whose outboxes are not among those that were read.
func without(ids []DocumentKey, read []Outbox) []DocumentKey {
	seen := make(map[DocumentKey]bool, len(read))
	for _, box := range read {
		seen[box.DocumentKey] = true
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id DocumentKey) bool { return seen[id] })
}

// OneOf is a condition that an id is among some; it needs at least one.
func OneOf(ids []uuid.UUID) any {
	if len(ids) == 1 {
		return Binary(ids[0])
	}
	list := make(bson.A, len(ids))
	for i, id := range ids {
		list[i] = Binary(id)
	}
	return bson.D{{Key: "$in", Value: list}}
}

func outboxOf(doc bson.Raw) (Outbox, error) {
	id, err := UUID(doc.Lookup("_id"))
	if err != nil {
		return Outbox{}, err
	}
	ws, err := UUID(doc.Lookup("ws"))
	if err != nil {
		return Outbox{}, err
	}
	box := Outbox{DocumentKey: DocumentKey{Workspace: ws, ID: id}}
	if box.Effects, err = effectsOf(doc); err != nil {
		return Outbox{}, err
	}
	attempts, _ := doc.Lookup(fieldAttempts).AsInt64OK()
	_, box.Deferred = doc.Lookup(fieldNextAt).AsInt64OK()
	_, box.Blocked = doc.Lookup(fieldBlocked).StringValueOK()
	box.Attempts = int(attempts)
	return box, nil
}

func effectsOf(doc bson.Raw) ([]Effect, error) {
	box, ok := doc.Lookup("outbox").ArrayOK()
	if !ok {
		return nil, nil
	}
	values, err := box.Values()
	if err != nil {
		return nil, fmt.Errorf("decode outbox: %w", err)
	}
	effects := make([]Effect, 0, len(values))
	for _, v := range values {
		d, ok := v.DocumentOK()
		if !ok {
			return nil, fmt.Errorf("decode outbox: unexpected type %s", v.Type)
		}
		var e Effect
		if e.ID, err = UUID(d.Lookup("id")); err != nil {
			return nil, fmt.Errorf("decode outbox: %w", err)
		}
		micros, _ := d.Lookup("at").AsInt64OK()
		e.At = time.UnixMicro(micros).UTC()
		e.Kind, _ = d.Lookup("kind").StringValueOK()
		_, body, _ := d.Lookup("body").BinaryOK()
		e.Body = append([]byte(nil), body...)
		e.Trace.Trace, _ = d.Lookup("traceparent").StringValueOK()
		e.Trace.State, _ = d.Lookup("tracestate").StringValueOK()
		effects = append(effects, e)
	}
	return effects, nil
}

const (
	// pendingLook bounds the outboxes that each step of WithPending searches.
	pendingLook = 1000
	// pendingWindow bounds the difference between the time in an effect's id and the time at which the effect was
	// caused.
	pendingWindow = time.Minute
)

// WithPending reads the document whose outbox holds a recent effect, or returns ErrNotFound. There is no index on the
// ids of effects, because it would cost every write more than this search costs. The search is bounded. An id of
// version 7 contains the time at which its effect was caused; for other ids it searches the oldest outboxes. Outboxes with a recorded
// failure come last.
func WithPending[M proto.Message](ctx context.Context, c *Collection[M], ws, effect uuid.UUID) (M, error) {
	var none M
	steps := []bson.D{caused(bson.D{{Key: "$gt", Value: int64(0)}})}
	if effect.Version() == 7 {
		at := time.Unix(effect.Time().UnixTime())
		from, until := at.Add(-pendingWindow).UnixMicro(), at.Add(pendingWindow).UnixMicro()
		steps = []bson.D{
			caused(bson.D{{Key: "$gte", Value: at.UnixMicro()}, {Key: "$lte", Value: until}}),
			caused(bson.D{{Key: "$gte", Value: from}, {Key: "$lt", Value: at.UnixMicro()}}),
		}
	}
	for _, filter := range append(steps, bson.D{{Key: fieldNextAt, Value: bson.D{{Key: "$gt", Value: int64(0)}}}}) {
		id, err := c.pendingIn(ctx, filter, effect)
		if err == nil {
			return c.Get(ctx, ws, id)
		}
		if !errors.Is(err, ErrNotFound) {
			return none, err
		}
	}
	return none, fmt.Errorf("find %s of effect: %w", c.Name(), ErrNotFound)
}

// pendingIn finds the document that holds an effect among the first matching ones, or returns ErrNotFound.
func (c *Collection[M]) pendingIn(ctx context.Context, filter bson.D, effect uuid.UUID) (uuid.UUID, error) {
	cursor, err := query.Find(ctx, c.mongo, filter, options.Find().SetLimit(pendingLook).SetProjection(bson.D{{Key: "outbox.id", Value: 1}}))
	if err != nil {
		return uuid.Nil, fmt.Errorf("find %s of effect: %w", c.Name(), outage(err))
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for cursor.Next(ctx) {
		effects, err := effectsOf(cursor.Current)
		if err != nil {
			return uuid.Nil, err
		}
		if slices.ContainsFunc(effects, func(e Effect) bool { return e.ID == effect }) {
			return UUID(cursor.Current.Lookup("_id"))
		}
	}
	if err := cursor.Err(); err != nil {
		return uuid.Nil, fmt.Errorf("find %s of effect: %w", c.Name(), outage(err))
	}
	return uuid.Nil, ErrNotFound
}

// Done removes executed effects from their documents' outboxes with one command, and clears recorded failures. It does
// not wait for a majority or for the disk: a reader may briefly see an executed effect again. An effect that reappears
// after a power failure is executed again, without consequences.
func (s *Store) Done(ctx context.Context, collection query.Collection, boxes ...Outbox) error {
	return s.pullExecuted(ctx, s.lazy(collection), boxes, false)
}

// DoneDurably is Done, and waits for a majority. It is for effects whose other records are removed afterwards.
func (s *Store) DoneDurably(ctx context.Context, collection query.Collection, boxes ...Outbox) error {
	return s.pullExecuted(ctx, s.db.Collection(string(collection)), boxes, true)
}

func (s *Store) pullExecuted(ctx context.Context, from *mongo.Collection, boxes []Outbox, durably bool) (err error) {
	if d := s.direct; d != nil && len(boxes) > 0 {
		var updates updates
		for _, box := range boxes {
			updates.add(box.filter(), pull(box.Effects, box.Deferred))
		}
		_, err = d.update(ctx, s.db.Name(), from.Name(), updates.list, durably)
	} else {
		models := make([]mongo.WriteModel, len(boxes))
		for i, box := range boxes {
			models[i] = mongo.NewUpdateOneModel().SetFilter(box.filter()).SetUpdate(pull(box.Effects, box.Deferred))
		}
		_, err = from.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	}
	if err != nil {
		return fmt.Errorf("remove executed effects of %d %ss: %w", len(boxes), from.Name(), outage(err))
	}
	return nil
}

// pull returns the update that removes effects from an outbox, and its recorded failures.
func pull(effects []Effect, deferred bool) bson.Raw {
	start, doc := bsoncore.AppendDocumentStart(make([]byte, 0, 128+32*len(effects)))
	op, doc := bsoncore.AppendDocumentElementStart(doc, "$pull")
	box, doc := bsoncore.AppendDocumentElementStart(doc, "outbox")
	id, doc := bsoncore.AppendDocumentElementStart(doc, "id")
	in, doc := bsoncore.AppendArrayElementStart(doc, "$in")
	for i, e := range effects {
		doc = bsoncore.AppendBinaryElement(doc, strconv.Itoa(i), bson.TypeBinaryUUID, e.ID[:])
	}
	for _, inner := range []int32{in, id, box, op} {
		doc = end(doc, inner)
	}
	if deferred {
		op, doc = bsoncore.AppendDocumentElementStart(doc, "$unset")
		for _, field := range []string{fieldAttempts, fieldNextAt, fieldBlocked} {
			doc = bsoncore.AppendStringElement(doc, field, "")
		}
		doc = end(doc, op)
	}
	return end(doc, start)
}

// Remove removes a deleted document whose effects are executed.
func (s *Store) Remove(ctx context.Context, collection query.Collection, id uuid.UUID) error {
	if _, err := s.lazy(collection).DeleteOne(ctx, DocumentKey{Workspace: id, ID: id}.filter()); err != nil {
		return fmt.Errorf("remove %s: %w", collection, outage(err))
	}
	return nil
}
