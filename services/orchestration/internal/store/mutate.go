package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/protobson"
	"github.com/orch-project/orch/services/orchestration/internal/query"
)

// Change is what a decision wants written.
type Change[M proto.Message] struct {
	// Message is the document's new content.
	Message M
	// Effects are what the change causes elsewhere.
	Effects []Effect
	// Quiet leaves the time of the last change as it is: what is written is seen by nobody as a change.
	Quiet bool
}

// Decide looks at a document and says what is to be written; nil means nothing. It may be called several times, each
// time with what is stored then, and must not keep or change the message that it is given. Revision is the one that the
// write will make.
type Decide[M proto.Message] func(current M, revision int64) (*Change[M], error)

// attempts bounds how often a decision is made anew because another writer won.
const attempts = 20

// Mutate changes a document by compare-and-set and returns what is stored afterwards. It returns ErrNotFound when
// there is no such document, ErrDuplicate when the change takes a unique key that is taken, ErrContention when other
// writers won every time, and the decision's own error as it is.
func (c *Collection[M]) Mutate(ctx context.Context, ws, id uuid.UUID, decide Decide[M]) (M, error) {
	byID := bson.D{{Key: "_id", Value: Binary(id)}}
	var none M
	for range attempts {
		current, revision, err := c.first(ctx, ws, byID)
		if err != nil {
			return none, err
		}
		change, err := decide(current, revision+1)
		if err != nil {
			return none, err
		}
		if change == nil {
			return current, nil
		}
		update, err := c.update(current, change, revision+1)
		if err != nil {
			return none, fmt.Errorf("change a %s: %w", c.Name(), err)
		}
		won, err := c.compareAndSet(ctx, ws, id, revision, update)
		if err != nil {
			return none, fmt.Errorf("change a %s: %w", c.Name(), err)
		}
		if won {
			if len(change.Effects) > 0 {
				c.store.wake(c.Name(), id)
			}
			return change.Message, nil
		}
	}
	return none, fmt.Errorf("change a %s: %w", c.Name(), ErrContention)
}

// Delete takes a document out of its workspace; effects are what that causes, the removal itself not among them.
// It returns ErrNotFound when there is no such document.
func (c *Collection[M]) Delete(ctx context.Context, ws, id uuid.UUID, effects func(current M) ([]Effect, error)) error {
	byID := bson.D{{Key: "_id", Value: Binary(id)}}
	for range attempts {
		current, revision, err := c.first(ctx, ws, byID)
		if err != nil {
			return err
		}
		caused, err := effects(current)
		if err != nil {
			return err
		}
		now := c.store.Now()
		caused = append(caused, Effect{ID: c.store.NewID(), At: now, Kind: KindRemove})
		won, err := c.compareAndSet(ctx, ws, id, revision, bson.D{
			{Key: "$set", Value: bson.D{
				{Key: "ws", Value: Binary(id)},
				{Key: "rev", Value: revision + 1},
				{Key: "deleted_at", Value: now.UnixMicro()},
			}},
			{Key: "$push", Value: bson.D{{Key: "outbox", Value: bson.D{{Key: "$each", Value: caused}}}}},
		})
		if err != nil {
			return fmt.Errorf("delete a %s: %w", c.Name(), err)
		}
		if won {
			c.store.wake(c.Name(), id)
			return nil
		}
	}
	return fmt.Errorf("delete a %s: %w", c.Name(), ErrContention)
}

func (c *Collection[M]) compareAndSet(ctx context.Context, ws, id uuid.UUID, revision int64, update bson.D) (bool, error) {
	filter := bson.D{{Key: "_id", Value: Binary(id)}, {Key: "ws", Value: Binary(ws)}, {Key: "rev", Value: revision}}
	result, err := c.mongo.UpdateOne(ctx, filter, update)
	if mongo.IsDuplicateKeyError(err) {
		return false, ErrDuplicate
	}
	if err != nil {
		return false, outage(err)
	}
	return result.MatchedCount == 1, nil
}

// update writes only the fields that differ, so that a write costs what it changes.
func (c *Collection[M]) update(current M, change *Change[M], revision int64) (bson.D, error) {
	if err := distinct(change.Effects); err != nil {
		return nil, err
	}
	next := change.Message
	if !change.Quiet {
		stamp(next, c.store.Now(), false)
	}
	set, unset, err := protobson.Set(next, differing(current, next))
	if err != nil {
		return nil, err
	}
	update := bson.D{{Key: "$set", Value: append(set, bson.E{Key: "rev", Value: revision})}}
	if len(unset) > 0 {
		update = append(update, bson.E{Key: "$unset", Value: unset})
	}
	if len(change.Effects) > 0 {
		update = append(update, bson.E{Key: "$push", Value: bson.D{{Key: "outbox", Value: bson.D{{Key: "$each", Value: change.Effects}}}}})
	}
	return update, nil
}

// differing names the stored top-level fields in which two messages differ.
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

// stamp sets the times of a document's making and last change.
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
