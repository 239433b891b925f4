package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clock"
	wire "github.com/orch-project/orch/pkg/events"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// maxBacklog bounds the events that wait for a turn of one workspace. Further events are not evaluated.
	maxBacklog = 100_000
	// backlogTick is how soon a window is looked at again that waits for the backlog.
	backlogTick = time.Second
)

// backlog describes the stored events of a workspace that wait for a turn, in the order of the stream. They are in the
// collection of held events, and have a sequence.
type backlog struct {
	mu     sync.Mutex
	loaded bool
	count  int
	last   int64 // The sequence of the newest event, in microseconds since 1970 or a little more.
	oldest int64 // When the oldest event was received, or earlier, in microseconds since 1970.
	// undelivered is set while deliveries of some of the events may not be stored.
	undelivered bool
	// draining is set while a goroutine evaluates the backlog.
	draining bool
	// refused is the last minute in which events were refused.
	refused int64
}

// waitingFilter selects the backlog among the held events.
var waitingFilter = bson.D{{Key: "sequence", Value: bson.D{{Key: "$gt", Value: int64(0)}}}}

// waiting reports whether the workspace has a backlog.
func (t *workspaceEvaluator) waiting(ctx context.Context) (bool, error) {
	t.backlog.mu.Lock()
	defer t.backlog.mu.Unlock()
	err := t.loadBacklog(ctx)
	return t.backlog.count > 0, err
}

// undelivered reports whether the backlog may have events whose deliveries are not stored. Later events must not be delivered before these.
func (t *workspaceEvaluator) undelivered(ctx context.Context) (bool, error) {
	t.backlog.mu.Lock()
	defer t.backlog.mu.Unlock()
	err := t.loadBacklog(ctx)
	return t.backlog.undelivered, err
}

// loadBacklog reads once what an earlier process left in the backlog. The caller holds its mutex.
func (t *workspaceEvaluator) loadBacklog(ctx context.Context) error {
	b := &t.backlog
	if b.loaded {
		return nil
	}
	n, err := t.engine.deferredEvents.Count(ctx, t.ws, store.Query{Filter: waitingFilter})
	if err != nil {
		return err
	}
	if n > 0 {
		oldest, err := t.end(ctx, 1)
		if err != nil {
			return err
		}
		newest, err := t.end(ctx, -1)
		if err != nil {
			return err
		}
		b.oldest, b.last = oldest.GetReceived(), newest.GetSequence()
	}
	b.count, b.loaded, b.undelivered = int(n), true, n > 0
	t.engine.Metrics.backlog.Add(float64(n))
	t.startDraining()
	return nil
}

// end reads the oldest event of the backlog for the order 1, or the newest for -1. It returns nil if the backlog is empty.
func (t *workspaceEvaluator) end(ctx context.Context, order int) (*orchv1.AutomationHold, error) {
	found, err := t.engine.deferredEvents.Find(ctx, t.ws, store.Query{Filter: waitingFilter, Sort: bson.D{{Key: "sequence", Value: order}}, Limit: 1})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// startDraining evaluates the backlog in the background, if there is one. The caller holds its mutex.
func (t *workspaceEvaluator) startDraining() {
	if b := &t.backlog; b.count > 0 && !b.draining {
		b.draining = t.engine.spawn(t.drain)
	}
}

// postpone stores events of the stream in the backlog. The deliveries of the first ones are stored. Events beyond its bound are refused.
func (t *workspaceEvaluator) postpone(ctx context.Context, events []Incoming, delivered int, rejected *broker.Rejected) error {
	b := &t.backlog
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := t.loadBacklog(ctx); err != nil {
		return err
	}
	now := t.engine.now()
	var deferred []*orchv1.AutomationHold
	refused, last := 0, b.last
	for i := range events {
		e, err := events[i].Decode()
		if err != nil {
			rejected.Reject(broker.Key{Workspace: t.ws, ID: events[i].ID()}, err)
			continue
		}
		if b.count+len(deferred) >= maxBacklog {
			refused++
			continue
		}
		received := now
		if e.Received != nil {
			received = e.GetReceived().AsTime()
		}
		last = max(last+1, now.UnixMicro())
		deferred = append(deferred, &orchv1.AutomationHold{
			Id: t.waitingID(events[i].ID()).String(), Event: e, Received: received.UnixMicro(), Sequence: proto.Int64(last), Undelivered: i >= delivered,
		})
	}
	if err := t.insert(ctx, deferred, rejected); err != nil {
		return err
	}
	b.last = last
	b.undelivered = b.undelivered || delivered < len(events)
	t.startDraining()
	return t.refuseEvents(ctx, refused)
}

// insert stores events in the backlog, and rejects those that the database refuses. The caller holds its mutex.
func (t *workspaceEvaluator) insert(ctx context.Context, deferred []*orchv1.AutomationHold, rejected *broker.Rejected) error {
	b := &t.backlog
	duplicates, refused := 0, false
	err := isolate(deferred, func(part []*orchv1.AutomationHold) error {
		taken, err := store.InsertAll(ctx, t.engine.deferredEvents, t.ws, part)
		duplicates += len(taken)
		return err
	}, func(h *orchv1.AutomationHold, cause error) {
		refused = true
		id, _ := uuid.Parse(h.GetEvent().GetId()) // Every event of the broker has an id.
		rejected.Reject(broker.Key{Workspace: t.ws, ID: id}, cause)
	})
	if err != nil || refused { // Some may be stored.
		t.engine.Metrics.backlog.Sub(float64(b.count))
		b.count, b.loaded = 0, false
		return cmp.Or(err, t.loadBacklog(ctx))
	}
	if b.count == 0 && len(deferred) > 0 {
		b.oldest = deferred[0].GetReceived()
	}
	b.count += len(deferred) - duplicates
	t.engine.Metrics.backlog.Add(float64(len(deferred) - duplicates))
	return nil
}

// waitingID is the id of an event in the backlog. It differs from that of the same event that follows another one.
func (t *workspaceEvaluator) waitingID(event uuid.UUID) uuid.UUID {
	return uuid.NewSHA1(t.ws, append([]byte("backlog"), event[:]...))
}

// refuseEvents reports events that are not evaluated, once per minute. The caller holds the backlog's mutex.
func (t *workspaceEvaluator) refuseEvents(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}
	t.engine.Metrics.limited.WithLabelValues(limitBacklog).Add(float64(n))
	minute := t.engine.now().Unix() / 60
	if minute == t.backlog.refused {
		return nil
	}
	t.engine.Log.WarnContext(ctx, "events are not evaluated: the backlog of a workspace is full", "workspace", t.ws, "events", n)
	if err := t.publishLimits(ctx, []limited{{limit: limitBacklog, value: maxBacklog, window: minute}}); err != nil {
		return err
	}
	t.backlog.refused = minute
	return nil
}

// measureBacklogs publishes how full the fullest backlog is.
func (e *Engine) measureBacklogs() {
	fullest := 0
	e.each(func(t *workspaceEvaluator) bool {
		t.backlog.mu.Lock()
		defer t.backlog.mu.Unlock()
		fullest = max(fullest, t.backlog.count)
		return true
	})
	e.Metrics.fullest.Set(float64(fullest) / maxBacklog)
}

// split separates the timers that are due before the oldest event of the backlog from those that must wait for it.
func (b *backlog) split(due []*timer) (now, early []*timer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range due {
		if b.count > 0 && one.due > b.oldest {
			early = append(early, one)
		} else {
			now = append(now, one)
		}
	}
	return now, early
}

// drain evaluates the backlog a turn at a time, until it is empty. Between two turns it waits behind the other workspaces.
func (t *workspaceEvaluator) drain(ctx context.Context) {
	for more := true; more; {
		if wait, _ := t.quarantinedFor(t.engine.now()); wait > 0 {
			more = clock.Pause(ctx, wait)
			continue
		}
		if !t.engine.acquire(ctx) {
			return
		}
		err := t.attempt(ctx, func(ctx context.Context) (err error) {
			more, err = t.evaluateBacklog(ctx)
			return err
		})
		t.engine.release()
		if err != nil {
			if ctx.Err() == nil {
				t.engine.Log.WarnContext(ctx, "failed to evaluate the backlog of a workspace", "workspace", t.ws, "error", err)
			}
			more = clock.Pause(ctx, redeliver)
		}
	}
}

// evaluateBacklog evaluates the first events of the backlog and removes them. It reports whether there are more.
func (t *workspaceEvaluator) evaluateBacklog(ctx context.Context) (more bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(ctx); err != nil {
		return true, err
	}
	found, _, err := t.firstOfBacklog(ctx)
	if err != nil {
		return true, err
	}
	delivered, err := t.deliverBacklog(ctx, found)
	if err != nil {
		return true, err
	}
	rejected := &broker.Rejected{}
	n, err := t.evaluateBatch(ctx, fromBacklog(found[:delivered]), batchBounds{cost: t.engine.batchBudget, first: true}, rejected)
	if err == nil {
		err = t.deadLetter(ctx, found[:n], rejected)
	}
	if err != nil {
		return true, err
	}
	return t.remove(ctx, found, n)
}

// deliverBacklog stores the deliveries of the first of the oldest events of the backlog, and notes that they are stored. It returns the number
// of events before the first one without deliveries.
func (t *workspaceEvaluator) deliverBacklog(ctx context.Context, oldest []*orchv1.AutomationHold) (n int, err error) {
	var waiting []*orchv1.AutomationHold
	for _, h := range oldest {
		if h.GetUndelivered() {
			waiting = append(waiting, h)
		}
	}
	if len(waiting) == 0 {
		return len(oldest), nil
	}
	rejected := &broker.Rejected{}
	delivered, err := t.engine.Subscriptions.Queue(ctx, t.ws, fromBacklog(waiting), rejected)
	if err != nil {
		return 0, err
	}
	if err := t.deadLetter(ctx, waiting[:delivered], rejected); err != nil {
		return 0, err
	}
	undelivered := bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: idsOf(waiting[:delivered])}}}, {Key: "undelivered", Value: true}}
	unset := bson.D{{Key: "$unset", Value: bson.D{{Key: "undelivered", Value: ""}}}}
	if err := t.engine.Store.UpdateMany(ctx, t.engine.deferredEvents.Name(), t.ws, undelivered, unset); err != nil {
		return 0, err
	}
	if delivered == len(waiting) {
		return len(oldest), nil
	}
	return slices.Index(oldest, waiting[delivered]), nil
}

// idsOf returns the ids of documents of the backlog.
func idsOf(deferred []*orchv1.AutomationHold) bson.A {
	ids := bson.A{}
	for _, h := range deferred {
		if id, err := uuid.Parse(h.GetId()); err == nil { // Others are not ours.
			ids = append(ids, store.Binary(id))
		}
	}
	return ids
}

// firstOfBacklog reads as many of the oldest events of the backlog as a turn takes. It reports whether there are more.
func (t *workspaceEvaluator) firstOfBacklog(ctx context.Context) (found []*orchv1.AutomationHold, more bool, err error) {
	return t.engine.deferredEvents.Page(ctx, t.ws, store.Query{
		Filter: waitingFilter,
		Sort:   bson.D{{Key: "sequence", Value: 1}}, Limit: maxBatch, Bytes: maxReadBytes,
	})
}

// remove deletes the first n of the oldest events of the backlog. It reports whether there are more.
func (t *workspaceEvaluator) remove(ctx context.Context, oldest []*orchv1.AutomationHold, n int) (more bool, err error) {
	b := &t.backlog
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > 0 {
		if err := t.engine.deferredEvents.DeleteMany(ctx, t.ws, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: idsOf(oldest[:n])}}}}); err != nil {
			return true, err
		}
		b.oldest = oldest[min(n, len(oldest)-1)].GetReceived()
	} else {
		n = b.count // Nothing is stored.
	}
	t.engine.Metrics.backlog.Sub(float64(min(n, b.count)))
	b.count = max(0, b.count-n)
	b.draining = b.count > 0
	b.undelivered = b.undelivered && b.count > 0
	return b.draining, nil
}

// deadLetter writes the dead letters of events whose frames were acknowledged before.
func (t *workspaceEvaluator) deadLetter(ctx context.Context, deferred []*orchv1.AutomationHold, rejected *broker.Rejected) error {
	for _, h := range deferred {
		id, _ := uuid.Parse(h.GetEvent().GetId()) // Every event of the broker has an id.
		reason := rejected.Reasons[broker.Key{Workspace: t.ws, ID: id}]
		if reason == nil {
			continue
		}
		e, err := wire.ToBroker(t.engine.Vocabulary, h.GetEvent(), t.ws)
		if err != nil {
			return fmt.Errorf("write the dead letter of an event: %w", err)
		}
		if err := t.engine.Broker.DeadLetterEvent(ctx, broker.DurableAutomations, &e, uint64(h.GetSequence()), reason); err != nil {
			return err
		}
	}
	return nil
}
