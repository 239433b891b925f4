package engine

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/isolation"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// batchBudget bounds a batch of a workspace. Its unit is one trigger that takes an event, which changes one bucket.
const batchBudget = 2000

// EffortCost is how much effort of comparisons is one unit, of the deliveries of an event too.
const EffortCost = 16 << 10

// indexCost is how many automations are indexed again at the cost of one unit: each change makes a new index of all.
const indexCost = 20

// batchBounds are the cost of a batch, 0 for no bound, and whether the first event is evaluated whatever it costs.
type batchBounds struct {
	cost  int
	first bool
}

// accept stores the deliveries of a turn of the workspace's events, evaluates a turn of them in their order, and defers the rest. While the
// workspace has a backlog or is in quarantine, it evaluates none. A workspace that is the only one with automations has no bounds of its
// evaluation. It returns outages only.
func (t *workspaceEvaluator) accept(ctx context.Context, batch []broker.Event) (*broker.Rejected, error) {
	events, rejected := FromStream(batch), &broker.Rejected{}
	delivered, err := t.deliverNow(ctx, events, rejected)
	if err != nil {
		if !t.failed(ctx, err) {
			return nil, err
		}
		delivered, rejected = 0, &broker.Rejected{}
	}
	evaluated := &broker.Rejected{}
	n, err := t.evaluateNow(ctx, events[:delivered], evaluated)
	if err != nil {
		if !t.failed(ctx, err) {
			return nil, err
		}
		n, evaluated = 0, &broker.Rejected{} // An event that was evaluated before the failure is a duplicate in the backlog.
	}
	rejected.Merge(evaluated)
	events = events[n:]
	if len(events) == 0 {
		return rejected, nil
	}
	err = t.postpone(ctx, events, delivered-n, rejected)
	if err == nil || isolation.IsOutage(err) {
		return rejected, err
	}
	for i := range events {
		rejected.Reject(broker.Key{Workspace: t.ws, ID: events[i].ID()}, fmt.Errorf("store an event for later evaluation: %w", err))
	}
	return rejected, nil
}

// deliverNow stores the deliveries of the first events of a batch, unless earlier events wait for theirs in the backlog.
func (t *workspaceEvaluator) deliverNow(ctx context.Context, events []Incoming, rejected *broker.Rejected) (n int, err error) {
	undelivered, err := t.undelivered(ctx)
	if err != nil || undelivered {
		return 0, err
	}
	return t.engine.Subscriptions.Queue(ctx, t.ws, events, rejected)
}

// evaluateNow evaluates the first events of a batch unless they have to wait: behind a backlog, or in a quarantine.
func (t *workspaceEvaluator) evaluateNow(ctx context.Context, events []Incoming, rejected *broker.Rejected) (n int, err error) {
	if _, in := t.quarantinedFor(t.engine.now()); in {
		return 0, nil
	}
	waiting, err := t.waiting(ctx)
	if err != nil || waiting {
		return 0, err
	}
	n, err = t.evaluateFirst(ctx, events, rejected)
	if err == nil {
		t.succeeded(ctx)
	}
	return n, err
}

// evaluateFirst evaluates the first events of a batch, as many as a turn permits. It returns their number.
func (t *workspaceEvaluator) evaluateFirst(ctx context.Context, events []Incoming, rejected *broker.Rejected) (n int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(ctx); err != nil {
		return 0, err
	}
	var bounds batchBounds
	if t.engine.populated.Load() > 1 {
		bounds.cost = t.engine.batchBudget
	}
	return t.evaluateBatch(ctx, events, bounds, rejected)
}

// evaluateBatch evaluates events in their order within bounds. It returns the number of events that are done with.
func (t *workspaceEvaluator) evaluateBatch(ctx context.Context, events []Incoming, bounds batchBounds, rejected *broker.Rejected) (n int, err error) {
	defer clear(t.matches)
	var pending []*orchv1.ReceivedEvent
	cost, reloaded := 0, false
	for i := range events {
		next := &events[i]
		changes := changesAutomations(t.engine.Vocabulary, next.Name())
		if !changes && !t.concerns(next) {
			t.order.Done(next.ID(), t.engine.now())
			continue
		}
		if bounds.cost > 0 && cost >= bounds.cost {
			return i, t.evaluateEach(ctx, pending, rejected)
		}
		e, err := next.Decode()
		if err != nil {
			rejected.Reject(broker.Key{Workspace: t.ws, ID: next.ID()}, err)
			continue
		}
		found := t.matching(e)
		if found.err != nil {
			rejected.Reject(broker.Key{Workspace: t.ws, ID: next.ID()}, fmt.Errorf("compare an event with automations: %w", found.err))
			t.order.Done(next.ID(), t.engine.now())
			cost += found.cost
			continue
		}
		eventCost := found.cost
		var changed []uuid.UUID
		if changes && !reloaded {
			changed = t.changedBy(events[i:])
			eventCost += len(changed) + len(t.set.Automations())/indexCost
		}
		if bounds.cost > 0 && cost+eventCost > bounds.cost && (cost > 0 || !bounds.first) {
			return i, t.evaluateEach(ctx, pending, rejected)
		}
		cost += eventCost
		// Every change of the batch was stored before the batch came, so the first reload reads them all.
		if changes && !reloaded {
			reloaded = true
			if err := t.evaluateEach(ctx, pending, rejected); err != nil {
				return 0, err
			}
			pending = nil
			if err := t.reload(ctx, changed); err != nil {
				return 0, err
			}
		}
		pending = append(pending, e)
	}
	return len(events), t.evaluateEach(ctx, pending, rejected)
}
