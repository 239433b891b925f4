package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// recentFor is how long after the start the store is asked whether an event was done: the memory of ids begins empty.
const recentFor = 30 * time.Minute

// workspaceEvaluator is the evaluation of one workspace. Its events are evaluated one after another.
type workspaceEvaluator struct {
	engine *Engine
	ws     uuid.UUID

	// users and usedAt are guarded by the engine's mutex.
	users  int
	usedAt time.Time

	backlog    backlog
	quarantine quarantine
	// sampling is set while the metrics are computed.
	sampling atomic.Bool

	mu     sync.Mutex
	set    *trigger.Set
	order  *trigger.Order
	loaded bool
	// account owns the workspace; the nil UUID if that is not known.
	account uuid.UUID
	// keys counts the for_each keys of automations.
	keys map[uuid.UUID]*keyCount
	// windows are the last windows in which limits were reached, and reached those whose events are not published yet.
	windows map[limitOf]int64
	reached []limited
	// matches are the triggers that take the events of the current turn.
	matches map[*orchv1.ReceivedEvent]matching
}

func newWorkspaceEvaluator(e *Engine, ws uuid.UUID) *workspaceEvaluator {
	return &workspaceEvaluator{
		engine: e, ws: ws, set: trigger.NewSet(), keys: map[uuid.UUID]*keyCount{}, windows: map[limitOf]int64{},
		matches: map[*orchv1.ReceivedEvent]matching{},
	}
}

// load reads the automations and the held events of the workspace, once.
func (t *workspaceEvaluator) load(ctx context.Context) error {
	if t.loaded {
		return nil
	}
	t.order = trigger.NewOrder(func(leader uuid.UUID) bool { return t.stored(ctx, leader) })
	err := t.reload(ctx, nil)
	if err == nil {
		err = t.restoreDeferred(ctx)
	}
	if err != nil {
		return err
	}
	if t.account, err = t.engine.Account(ctx, t.ws); err != nil {
		t.engine.Log.WarnContext(ctx, "failed to read the limit of an account; its automations are evaluated without it", "workspace", t.ws, "error", err)
	}
	t.loaded = true
	return nil
}

// followingFilter selects the events that follow another one among the held events.
var followingFilter = bson.D{{Key: "sequence", Value: bson.D{{Key: "$exists", Value: false}}}}

// restoreDeferred takes back the events that an earlier process held. An earlier version may have held more than this one does; these
// are evaluated.
func (t *workspaceEvaluator) restoreDeferred(ctx context.Context) error {
	defer clear(t.matches)
	last := uuid.Nil
	for more := true; more; {
		filter := append(bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: store.Binary(last)}}}}, followingFilter...)
		var page []*orchv1.AutomationHold
		var err error
		if page, more, err = t.engine.deferredEvents.Page(ctx, t.ws, store.Query{
			Filter: filter,
			Sort:   bson.D{{Key: "_id", Value: 1}}, Limit: maxBatch, Bytes: maxReadBytes,
		}); err != nil {
			return err
		}
		var deferred []*trigger.Deferred
		for _, h := range page {
			if last, err = uuid.Parse(h.GetId()); err != nil {
				return fmt.Errorf("read the id of a held event: %w", err)
			}
			if leader, err := uuid.Parse(h.GetFollows()); err == nil {
				deferred = append(deferred, &trigger.Deferred{Event: h.GetEvent(), Follows: leader, Received: time.UnixMicro(h.GetReceived())})
			}
		}
		now := t.engine.now()
		before := maps.Clone(t.order.Deferred())
		released := t.order.Restore(deferred, now)
		for _, h := range deferred {
			if id, err := uuid.Parse(h.Event.GetId()); err == nil {
				before[id] = h // They are stored.
			}
		}
		if err := t.apply(ctx, released, before, now); err != nil {
			return err
		}
	}
	return nil
}

// stored reports whether an event is in the store, which matters after a start: what this process has not seen then was
// evaluated by another one.
func (t *workspaceEvaluator) stored(ctx context.Context, id uuid.UUID) bool {
	if t.engine.now().Sub(t.engine.started) > recentFor {
		return false
	}
	n, err := t.engine.events.Count(ctx, t.ws, store.Query{Filter: bson.D{{Key: "_id", Value: store.Binary(id)}}})
	return err == nil && n > 0
}

// evaluateEach evaluates events in their order. It rejects those that fail permanently.
func (t *workspaceEvaluator) evaluateEach(ctx context.Context, events []*orchv1.ReceivedEvent, rejected *broker.Rejected) error {
	evaluate := func(batch []*orchv1.ReceivedEvent) error { return t.evaluate(ctx, batch) }
	return isolate(events, evaluate, func(e *orchv1.ReceivedEvent, cause error) {
		id, _ := uuid.Parse(e.GetId()) // Every event of the broker has an id.
		rejected.Reject(broker.Key{Workspace: t.ws, ID: id}, cause)
		t.order.Done(id, t.engine.now())
	})
}

// changesAutomations reports whether an event of that name says that an automation changed.
func changesAutomations(v vocabulary.Vocabulary, name string) bool {
	verb, ok := strings.CutPrefix(name, v.String()) // Name would allocate for each event.
	return ok && (verb == ".automation.created" || verb == ".automation.updated" || verb == ".automation.deleted")
}

// concerns reports whether an event has to be read: some trigger may take one of its name, or it has a place in an order.
// Without automations the order of events has no effect.
func (t *workspaceEvaluator) concerns(i *Incoming) bool {
	return len(t.order.Deferred()) > 0 || t.set.MayMatch(i.Name()) || len(t.set.Automations()) > 0 && i.mayFollow()
}

// evaluate applies events and commits what they change. After an error the same events may be evaluated again.
func (t *workspaceEvaluator) evaluate(ctx context.Context, events []*orchv1.ReceivedEvent) error {
	if len(events) == 0 {
		return nil
	}
	now := t.engine.now()
	deferred := maps.Clone(t.order.Deferred())
	var released []*orchv1.ReceivedEvent
	for _, e := range events {
		if e.Received == nil {
			e.Received = timestamppb.New(now)
		}
		released = append(released, t.order.Admit(e, e.GetReceived().AsTime(), now)...)
	}
	if err := t.apply(ctx, released, deferred, now); err != nil {
		return err
	}
	t.engine.Metrics.events.Add(float64(len(events)))
	return nil
}

// apply evaluates released events and settles which events are held.
func (t *workspaceEvaluator) apply(ctx context.Context, released []*orchv1.ReceivedEvent, deferred map[uuid.UUID]*trigger.Deferred, now time.Time) error {
	err := t.run(ctx, released, now)
	if err == nil {
		err = t.saveDeferred(ctx, deferred)
	}
	if err != nil {
		t.order.Undo(released, deferred)
	}
	return err
}

func (t *workspaceEvaluator) run(ctx context.Context, released []*orchv1.ReceivedEvent, now time.Time) error {
	session := trigger.NewSession(t.engine, now)
	session.AdmitKeys(func(n *trigger.Node) bool { return t.admitKey(ctx, n) })
	if err := session.Preload(ctx, t.ws, released, t.matchingTriggers); err != nil {
		return err
	}
	for _, e := range released {
		for _, n := range t.matchingTriggers(e) {
			if err := session.Event(ctx, n, e); err != nil {
				return err
			}
		}
	}
	if err := t.commit(ctx, session); err != nil {
		return err
	}
	t.order.Duplicates(session.Duplicates())
	return nil
}

// matching are the triggers that take an event, with the cost of a turn, or the reason why they cannot be found.
type matching struct {
	nodes []*trigger.Node
	cost  int
	err   error
}

func (t *workspaceEvaluator) matching(e *orchv1.ReceivedEvent) matching {
	found, cached := t.matches[e]
	if !cached {
		found = matchingTriggers(t.engine.Vocabulary, t.set, e)
		t.matches[e] = found
	}
	return found
}

func (t *workspaceEvaluator) matchingTriggers(e *orchv1.ReceivedEvent) []*trigger.Node {
	return t.matching(e).nodes
}

// matchingTriggers are the triggers that take an event. An automation takes no events of its own firings and actions. The event that
// a limit was reached is taken by triggers that name it, and not by patterns: those would reach the limit again.
func matchingTriggers(v vocabulary.Vocabulary, set *trigger.Set, e *orchv1.ReceivedEvent) matching {
	all, effort, err := set.Takers(e)
	m := matching{nodes: all, cost: len(all) + effort/EffortCost, err: err}
	if len(all) == 0 {
		return m
	}
	own, isAutomation := strings.CutPrefix(e.GetResource().GetLabels()[v.ResourceID()], v.Name("automation", ""))
	reached := e.GetEvent() == v.Name("automation", "limit-reached")
	if !reached && (!isAutomation || changesAutomations(v, e.GetEvent())) {
		return m
	}
	m.nodes = slices.DeleteFunc(all, func(n *trigger.Node) bool {
		named := slices.Contains(n.Expect, e.GetEvent()) || slices.Contains(n.Starts, e.GetEvent())
		return isAutomation && n.Automation.ID.String() == own || reached && !named
	})
	return m
}

// saveDeferred stores the events that are held now and were not before, and removes those that no longer are.
func (t *workspaceEvaluator) saveDeferred(ctx context.Context, before map[uuid.UUID]*trigger.Deferred) error {
	var added []*orchv1.AutomationHold
	for id, h := range t.order.Deferred() {
		if before[id] == nil {
			added = append(added, &orchv1.AutomationHold{
				Id: t.deferredID(id).String(), Event: h.Event, Follows: h.Follows.String(), Received: h.Received.UnixMicro(),
			})
		}
	}
	if _, err := store.InsertAll(ctx, t.engine.deferredEvents, t.ws, added); err != nil {
		return err
	}
	var released bson.A
	for id := range before {
		if t.order.Deferred()[id] == nil {
			released = append(released, store.Binary(t.deferredID(id)))
		}
	}
	if len(released) == 0 {
		return nil
	}
	return t.engine.deferredEvents.DeleteMany(ctx, t.ws, bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: released}}}})
}

func (t *workspaceEvaluator) deferredID(event uuid.UUID) uuid.UUID {
	return uuid.NewSHA1(t.ws, event[:])
}

// expire evaluates the held events whose time is over.
func (t *workspaceEvaluator) expire(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.loaded || len(t.order.Deferred()) == 0 {
		return nil
	}
	defer clear(t.matches)
	now := t.engine.now()
	deferred := maps.Clone(t.order.Deferred())
	released := t.order.Expire(now)
	if len(released) == 0 {
		return nil
	}
	return t.apply(ctx, released, deferred, now)
}

// tick applies the time to buckets. It does not change the buckets of deleted and disabled triggers. While the workspace has a
// backlog, a window that ends after the oldest event of the backlog stays open: that event may count in it.
func (t *workspaceEvaluator) tick(ctx context.Context, due []*timer) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(ctx); err != nil {
		return err
	}
	due, early := t.backlog.split(due)
	t.engine.timers.back(early, t.engine.now().Add(backlogTick).UnixMicro())
	session := trigger.NewSession(t.engine, t.engine.now())
	nodes := t.nodes()
	if err := session.PreloadTimers(ctx, t.ws, nodesOf(due, nodes)); err != nil {
		return err
	}
	for _, one := range due {
		if n := nodes[one.trigger]; n != nil {
			if err := session.Tick(ctx, n, one.key); err != nil {
				return err
			}
		}
	}
	if err := t.commit(ctx, session); !errors.Is(err, trigger.ErrConflict) {
		return err
	}
	return trigger.ErrConflict
}

func nodesOf(due []*timer, nodes map[uuid.UUID]*trigger.Node) map[uuid.UUID]*trigger.Node {
	wanted := map[uuid.UUID]*trigger.Node{}
	for _, one := range due {
		if n := nodes[one.trigger]; n != nil {
			wanted[one.bucket] = n
		}
	}
	return wanted
}

// nodes are the enabled proactive triggers by their ids.
func (t *workspaceEvaluator) nodes() map[uuid.UUID]*trigger.Node {
	nodes := map[uuid.UUID]*trigger.Node{}
	for _, n := range t.set.Proactive() {
		nodes[n.ID] = n
	}
	return nodes
}
