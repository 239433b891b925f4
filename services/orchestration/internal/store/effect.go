package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// Effect is something that a write causes elsewhere. It is executed at least once, after the write, in order;
// carrying it out twice must be the same as once.
type Effect struct {
	ID uuid.UUID
	// At is when it was caused.
	At time.Time
	// Kind chooses who carries it out.
	Kind string
	// Body is what the handler of that kind needs.
	Body []byte
}

// KindRemove is the last effect of a deleted document: the document goes.
const KindRemove = "remove"

// distinct refuses effects that share an id: taking the first one out of the outbox would take the second with it,
// before it was executed.
func distinct(effects []Effect) error {
	for i, e := range effects {
		for _, other := range effects[:i] {
			if e.ID == other.ID {
				return fmt.Errorf("the effects %q and %q have one id", other.Kind, e.Kind)
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
	return bsoncore.AppendBinaryElement(doc, "body", bson.TypeBinaryGeneric, e.Body)
}

// Pending reads what a document's writes caused and what is not done yet, in order.
// A document that is gone has nothing pending.
func (s *Store) Pending(ctx context.Context, collection query.Collection, id uuid.UUID) ([]Effect, error) {
	cursor, err := s.db.Collection(string(collection)).Find(ctx, bson.D{{Key: "_id", Value: Binary(id)}},
		options.Find().SetProjection(bson.D{{Key: "outbox", Value: 1}}).SetLimit(1))
	if err != nil {
		return nil, fmt.Errorf("read the outbox of a %s: %w", collection, outage(err))
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

// Outbox is what the writes of one document caused and what is not executed yet.
type Outbox struct {
	ID uuid.UUID
	// Effects are in the order of the writes.
	Effects []Effect
	// Attempts counts the consecutive failures of the first effect. It is 0 for an outbox that was not read.
	Attempts int
	// Deferred reports that the outbox has a failure recorded; see Failure.
	Deferred bool
	// Blocked reports that an effect which others must not overtake is in the dead letters.
	Blocked bool
}

// PendingOf reads the outboxes of several documents. The result omits missing documents; its order is undefined.
func (s *Store) PendingOf(ctx context.Context, collection query.Collection, ids []uuid.UUID) ([]Outbox, error) {
	cursor, err := s.db.Collection(string(collection)).Find(ctx, bson.D{{Key: "_id", Value: oneOf(ids)}},
		options.Find().SetProjection(outboxFields).SetBatchSize(int32(len(ids)+1)))
	if err != nil {
		return nil, fmt.Errorf("read the outboxes of %d %ss: %w", len(ids), collection, outage(err))
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	boxes := make([]Outbox, 0, len(ids))
	for cursor.Next(ctx) {
		box, err := outboxOf(cursor.Current)
		if err != nil {
			return nil, err
		}
		boxes = append(boxes, box)
	}
	return boxes, outage(cursor.Err())
}

func oneOf(ids []uuid.UUID) any {
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
	box := Outbox{ID: id}
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
		return nil, fmt.Errorf("read an outbox: %w", err)
	}
	effects := make([]Effect, 0, len(values))
	for _, v := range values {
		d, ok := v.DocumentOK()
		if !ok {
			return nil, fmt.Errorf("read an outbox: a %s is no effect", v.Type)
		}
		var e Effect
		if e.ID, err = UUID(d.Lookup("id")); err != nil {
			return nil, fmt.Errorf("read an outbox: %w", err)
		}
		micros, _ := d.Lookup("at").AsInt64OK()
		e.At = time.UnixMicro(micros).UTC()
		e.Kind, _ = d.Lookup("kind").StringValueOK()
		_, body, _ := d.Lookup("body").BinaryOK()
		e.Body = append([]byte(nil), body...)
		effects = append(effects, e)
	}
	return effects, nil
}

const (
	// pendingLook bounds the outboxes that WithPending looks into.
	pendingLook = 1000
	// pendingWindow is by how much the time in an effect's id may differ from the time at which the effect was caused.
	pendingWindow = time.Minute
)

// WithPending reads the document whose outbox holds a recent effect, or returns ErrNotFound. There is no index on the ids
// of effects, because it would cost every write more than this look costs. The look is bounded: an id of version 7 names
// the time at which its effect was caused, and of all others only the newest outboxes are searched.
func (c *Collection[M]) WithPending(ctx context.Context, ws, effect uuid.UUID) (M, error) {
	var none M
	caused := bson.D{{Key: "$gt", Value: int64(0)}}
	if effect.Version() == 7 {
		at := time.Unix(effect.Time().UnixTime())
		caused = bson.D{
			{Key: "$gte", Value: at.Add(-pendingWindow).UnixMicro()}, {Key: "$lte", Value: at.Add(pendingWindow).UnixMicro()},
		}
	}
	cursor, err := c.mongo.Find(ctx, bson.D{{Key: "outbox.at", Value: caused}}, options.Find().
		SetSort(bson.D{{Key: "outbox.at", Value: -1}}).SetLimit(pendingLook).
		SetProjection(bson.D{{Key: "ws", Value: 1}, {Key: "outbox.id", Value: 1}}))
	if err != nil {
		return none, fmt.Errorf("find the %s of an effect: %w", c.Name(), outage(err))
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for cursor.Next(ctx) {
		effects, err := effectsOf(cursor.Current)
		if err != nil {
			return none, err
		}
		if !slices.ContainsFunc(effects, func(e Effect) bool { return e.ID == effect }) {
			continue
		}
		id, err := UUID(cursor.Current.Lookup("_id"))
		if err != nil {
			return none, err
		}
		return c.Get(ctx, ws, id)
	}
	if err := cursor.Err(); err != nil {
		return none, fmt.Errorf("find the %s of an effect: %w", c.Name(), outage(err))
	}
	return none, fmt.Errorf("find the %s of an effect: %w", c.Name(), ErrNotFound)
}

// Done removes executed effects from their documents' outboxes with one command, and clears recorded failures. It does not
// wait for a majority or for the disk: a reader may see an executed effect again for a moment, and an effect that returns
// after a power cut is executed again, which changes nothing.
func (s *Store) Done(ctx context.Context, collection query.Collection, boxes ...Outbox) error {
	models := make([]mongo.WriteModel, len(boxes))
	for i, box := range boxes {
		models[i] = mongo.NewUpdateOneModel().SetFilter(byID(box.ID)).SetUpdate(pull(box.Effects, box.Deferred))
	}
	if _, err := s.lazy(collection).BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false)); err != nil {
		return fmt.Errorf("empty the outboxes of %d %ss: %w", len(boxes), collection, outage(err))
	}
	return nil
}

func byID(id uuid.UUID) bson.Raw {
	start, doc := bsoncore.AppendDocumentStart(make([]byte, 0, 32))
	return end(bsoncore.AppendBinaryElement(doc, "_id", bson.TypeBinaryUUID, id[:]), start)
}

// pull is the update that removes effects from an outbox and, when failures are recorded, those.
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

// Remove removes a document that was deleted, and whose effects are done.
func (s *Store) Remove(ctx context.Context, collection query.Collection, id uuid.UUID) error {
	filter := bson.D{{Key: "_id", Value: Binary(id)}, {Key: "ws", Value: Binary(id)}}
	if _, err := s.lazy(collection).DeleteOne(ctx, filter); err != nil {
		return fmt.Errorf("remove a %s: %w", collection, outage(err))
	}
	return nil
}
