package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/protobson"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// Change is the write that a decision returns.
type Change[M proto.Message] struct {
	// Message is the document's new content.
	Message M
	// Effects are the effects of the change.
	Effects []Effect
	// Quiet leaves the time of the last change as it is, for changes that readers do not see.
	Quiet bool
}

// Decide receives a document and returns the change to write; nil means nothing. It may be called several times, each
// time with another version of the document. The result of the last call counts. It must not retain or modify that message.
// revision is the one that the write will have.
type Decide[M proto.Message] func(current M, revision int64) (*Change[M], error)

const (
	// attempts bounds the repetitions of a decision after lost races.
	attempts = 20
	// eagerAttempts are made without a pause. Later ones pause for a random time that doubles up to maxPause, so that
	// writers of one document take turns.
	eagerAttempts = 4
	minPause      = time.Millisecond
	maxPause      = 50 * time.Millisecond
)

// pauseBefore waits before an attempt that follows a lost race. It returns early with the context's error.
func pauseBefore(ctx context.Context, attempt int) error {
	if attempt < eagerAttempts {
		return ctx.Err()
	}
	pause := min(maxPause, minPause<<(attempt-eagerAttempts))
	timer := time.NewTimer(pause/2 + rand.N(pause/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Mutate changes a document by compare-and-set and returns what is stored afterwards. It returns ErrNotFound for an
// unknown document, and ErrDuplicate if the change needs a taken unique key. It returns ErrContention if concurrent
// writers won every attempt, and the decision's own error unchanged.
func (c *Collection[M]) Mutate(ctx context.Context, ws, id uuid.UUID, decide Decide[M]) (M, error) {
	var none M
	confirm := false // The document is read from what is on disk.
	for attempt := range attempts {
		if err := pauseBefore(ctx, attempt); err != nil {
			return none, fmt.Errorf("change %s: %w", c.Name(), err)
		}
		base, err := c.base(ctx, ws, id, confirm)
		if errors.Is(err, ErrNotFound) && !confirm {
			confirm = true
			continue
		}
		if err != nil {
			return none, err
		}
		change, err := decide(base.message, base.revision.Revision+1)
		if !confirm && (err != nil || change == nil) {
			c.versionCache.forget(id)
			confirm = true
			continue
		}
		if err != nil {
			return none, err
		}
		if change == nil {
			return base.message, nil
		}
		change.Effects = traced(ctx, change.Effects)
		next := base.revision.next()
		update, err := c.update(base.message, change, next)
		if err != nil {
			return none, fmt.Errorf("change %s: %w", c.Name(), err)
		}
		won, err := false, c.prepareChange(ctx, ws, base.message, change.Message)
		if err == nil {
			won, err = c.compareAndSet(ctx, ws, base.revision, update)
		}
		if err != nil || !won {
			c.versionCache.forget(id)
		}
		if err != nil {
			return none, fmt.Errorf("change %s: %w", c.Name(), err)
		}
		if won {
			c.written(ws, next, change.Message, change.Effects)
			return change.Message, nil
		}
	}
	return none, fmt.Errorf("change %s: %w", c.Name(), ErrContention)
}

// base is the version that a change is based on.
type base[M proto.Message] struct {
	message  M
	revision Revision
}

// base returns the version that a change is based on: a cached version, else the stored one.
//
// An unconfirmed version may be outdated, or not on disk yet. It serves only as the base of a compare-and-set. If that succeeds,
// the version was the latest one: no other version has its token. The log has the compare-and-set behind that version's write, so its
// acknowledgement covers both.
// A result without a write has no such proof, so it needs a confirmed version: a majority read, which waits for the disk.
func (c *Collection[M]) base(ctx context.Context, ws, id uuid.UUID, confirm bool) (base[M], error) {
	from := c.local
	if confirm {
		from = c.mongo
	} else if v, ok := c.versionCache.get(ws, id); ok {
		m := NewMessage(c)
		if err := proto.Unmarshal(v.message, m); err == nil {
			return base[M]{message: m, revision: v.revision}, nil
		}
	}
	return c.stored(ctx, from, ws, id)
}

// stored reads the version that a change is based on.
func (c *Collection[M]) stored(ctx context.Context, from *mongo.Collection, ws, id uuid.UUID) (base[M], error) {
	raw, err := c.rawByID(ctx, from, ws, id, nil)
	if err != nil {
		return base[M]{}, err
	}
	m, err := c.Decode(raw)
	if err != nil {
		return base[M]{}, err
	}
	return base[M]{message: m, revision: revisionOf(id, raw)}, nil
}

// written wakes the relay for the effects of a write, and caches the version.
func (c *Collection[M]) written(ws uuid.UUID, revision Revision, m M, effects []Effect) {
	if len(effects) > 0 {
		c.store.relay.Wake(c.Name(), ws, revision.ID)
	}
	c.versionCache.put(revision.ID, version{ws: ws, revision: revision}, m)
}

// Delete moves a document out of its workspace; effects returns the effects without the removal itself. It returns
// ErrNotFound for an unknown document.
func (c *Collection[M]) Delete(ctx context.Context, ws, id uuid.UUID, effects func(current M) ([]Effect, error)) error {
	for attempt := range attempts {
		if err := pauseBefore(ctx, attempt); err != nil {
			return fmt.Errorf("delete %s: %w", c.Name(), err)
		}
		current, revision, err := c.byID(ctx, c.mongo, ws, id)
		if err != nil {
			return err
		}
		caused, err := effects(current)
		if err != nil {
			return err
		}
		now := c.store.Now()
		caused = traced(ctx, append(caused, c.removal(now)))
		if err := c.openOf(ctx, ws, current); err != nil {
			return fmt.Errorf("delete %s: %w", c.Name(), err)
		}
		won, err := c.compareAndSet(ctx, ws, revision, deletion(revision.next(), now, caused))
		if err != nil {
			return fmt.Errorf("delete %s: %w", c.Name(), err)
		}
		if won {
			c.versionCache.forget(id)
			c.store.relay.Wake(c.Name(), ws, id)
			return nil
		}
	}
	return fmt.Errorf("delete %s: %w", c.Name(), ErrContention)
}

// removal is the last effect of a deleted document.
func (c *Collection[M]) removal(now time.Time) Effect {
	return Effect{ID: c.store.NewID(), At: now, Kind: KindRemove}
}

// deletion is the update that moves a document out of its workspace and pushes its last effects.
func deletion(revision Revision, now time.Time, effects []Effect) bson.Raw {
	set := bsoncore.AppendBinaryElement(nil, "ws", bson.TypeBinaryUUID, revision.ID[:])
	set = revision.append(set)
	set = bsoncore.AppendInt64Element(set, "deleted_at", now.UnixMicro())
	return appendUpdate(set, nil, effects)
}

func (c *Collection[M]) compareAndSet(ctx context.Context, ws uuid.UUID, base Revision, update bson.Raw) (bool, error) {
	matched, err := c.updateOne(ctx, base.filter(ws), update)
	if mongo.IsDuplicateKeyError(err) {
		return false, ErrDuplicate
	}
	if err != nil {
		return false, outage(err)
	}
	return matched == 1, nil
}

// updateOne updates one document by its id, and returns the number of matched documents.
func (c *Collection[M]) updateOne(ctx context.Context, filter, update bson.Raw) (matched int64, err error) {
	if d := c.store.direct; d != nil {
		var updates updates
		updates.add(filter, update)
		return d.update(ctx, c.mongo.Database().Name(), c.mongo.Name(), updates.list, true)
	}
	result, err := c.mongo.UpdateOne(ctx, filter, update)
	if err != nil {
		return 0, err
	}
	return result.MatchedCount, nil
}

// update writes only the fields that differ, so its cost depends on the change.
func (c *Collection[M]) update(current M, change *Change[M], revision Revision) (bson.Raw, error) {
	if err := distinct(change.Effects); err != nil {
		return nil, err
	}
	next := change.Message
	if !change.Quiet {
		stamp(next, c.store.Now(), false)
	}
	set, unset, err := protobson.AppendSet(make([]byte, 0, 512), next, differing(current, next))
	if err != nil {
		return nil, err
	}
	return appendUpdate(revision.append(set), unset, change.Effects), nil
}

// appendUpdate appends the update that sets fields, given as elements, removes others and pushes effects.
func appendUpdate(set []byte, unset []string, effects []Effect) bson.Raw {
	size := len(set) + 64
	for _, e := range effects {
		size += len(e.Body) + len(e.Kind) + 96
	}
	start, doc := bsoncore.AppendDocumentStart(make([]byte, 0, size))
	inner, doc := bsoncore.AppendDocumentElementStart(doc, "$set")
	doc = end(append(doc, set...), inner)
	if len(unset) > 0 {
		inner, doc = bsoncore.AppendDocumentElementStart(doc, "$unset")
		for _, key := range unset {
			doc = bsoncore.AppendStringElement(doc, key, "")
		}
		doc = end(doc, inner)
	}
	if len(effects) > 0 {
		var box int32
		inner, doc = bsoncore.AppendDocumentElementStart(doc, "$push")
		box, doc = bsoncore.AppendDocumentElementStart(doc, "outbox")
		doc = appendEffects(doc, "$each", effects)
		doc = end(end(doc, box), inner)
	}
	return end(doc, start)
}

// end closes the document or array that began at start. It cannot fail: its start is in the buffer.
func end(doc []byte, start int32) []byte {
	doc, _ = bsoncore.AppendDocumentEnd(doc, start)
	return doc
}

// differing returns the names of the stored top-level fields in which two messages differ.
func differing(a, b proto.Message) []string {
	x, y := a.ProtoReflect(), b.ProtoReflect()
	fields := x.Descriptor().Fields()
	var names []string
	for i := range fields.Len() {
		fd := fields.Get(i)
		if _, stored := protobson.Key(fd); !stored {
			continue
		}
		if x.Has(fd) != y.Has(fd) || (x.Has(fd) && !x.Get(fd).Equal(y.Get(fd))) {
			names = append(names, string(fd.Name()))
		}
	}
	return names
}

// stamp sets the times of a document's creation and last change.
func stamp(m proto.Message, now time.Time, fresh bool) {
	set := func(name protoreflect.Name) {
		r := m.ProtoReflect()
		if fd := r.Descriptor().Fields().ByName(name); fd != nil && fd.Message() != nil {
			r.Set(fd, protoreflect.ValueOfMessage(timestamppb.New(now).ProtoReflect()))
		}
	}
	if fresh {
		set("created")
	}
	set("updated")
}

func documentID(m proto.Message) uuid.UUID {
	r := m.ProtoReflect()
	id, err := uuid.Parse(r.Get(r.Descriptor().Fields().ByName("id")).String())
	if err != nil {
		return uuid.Nil
	}
	return id
}

// lazy is a collection whose writes are acknowledged before they are on disk.
func (s *Store) lazy(collection query.Collection) *mongo.Collection {
	journal := false
	return s.db.Collection(string(collection), options.Collection().SetWriteConcern(&writeconcern.WriteConcern{W: 1, Journal: &journal}))
}
