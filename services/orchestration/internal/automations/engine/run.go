package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clock"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
	"github.com/orch-project/orch/services/orchestration/internal/leader"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// leaseName is the lease of the replica that evaluates.
	leaseName = "automations"
	// leaseTerm is how long the lease lasts without renewal, leaseEvery how often other replicas try to acquire it.
	leaseTerm  = 4 * time.Second
	leaseEvery = time.Second
	// tickBatch bounds how many timers one session serves, and retryTick is how soon those that failed are due again.
	tickBatch = 500
	retryTick = 250 * time.Millisecond
	// idleTick bounds the wait for the next timer, and parallel the workspaces that are evaluated at once.
	idleTick = time.Second
	parallel = 8
	// forgetEvery is how often old buckets are looked for, recoverEvery how often firings that a failure left behind are.
	forgetEvery  = time.Minute
	recoverEvery = 5 * time.Second
	// maxBatch bounds the events of one session, and maxReadBytes the size of the events that one command reads for it. Redeliver is how
	// soon a batch that failed comes again.
	maxBatch     = 500
	maxReadBytes = 8 << 20
	redeliver    = 200 * time.Millisecond
)

// Name implements run.Worker.
func (e *Engine) Name() string { return "automation evaluator" }

// Run evaluates while this replica holds the lease, until the context ends.
func (e *Engine) Run(ctx context.Context) error {
	leader.NewLease(e.Store, leaseName, leaseTerm).Run(ctx, leaseEvery, e.Log, e.evaluateWhileLeading)
	return nil
}

// evaluateWhileLeading evaluates until the lease is lost or the process ends, which both end the context.
func (e *Engine) evaluateWhileLeading(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	current := &leadership{ctx: ctx}
	e.setLeadership(current)
	defer func() {
		stop()
		e.setLeadership(nil) // Nothing is spawned any more.
		current.group.Wait()
		e.Metrics.fullest.Set(0) // Another replica measures it now.
	}()
	if err := e.prepare(ctx); err != nil {
		return fmt.Errorf("begin to evaluate automations: %w", err)
	}
	for _, work := range []func(context.Context){e.consume, e.tickTimers, e.keep, e.sample} {
		current.group.Go(func() { work(ctx) })
	}
	<-ctx.Done()
	return nil
}

func (e *Engine) setLeadership(l *leadership) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.leadership = l
}

// prepare reads what another replica, or an earlier process, left in the store.
func (e *Engine) prepare(ctx context.Context) error {
	e.mu.Lock()
	e.evaluators = map[uuid.UUID]*workspaceEvaluator{}
	e.mu.Unlock()
	e.populated.Store(0)
	e.Metrics.backlog.Set(0)
	e.Metrics.quarantined.Set(0)
	e.started = e.now()
	e.timers.reset()
	e.Subscriptions.Reset()
	err := e.buckets.EachAcross(ctx, store.Query{Filter: bson.D{{Key: "due", Value: bson.D{{Key: "$gt", Value: int64(0)}}}}}, func(ws uuid.UUID, b *orchv1.AutomationBucket) error {
		e.timers.set(ws, b)
		return nil
	})
	if err != nil {
		return err
	}
	workspaces := map[uuid.UUID]bool{}
	note := func(ws uuid.UUID) { workspaces[ws] = true }
	if err := store.EachOwner(ctx, e.automations, bson.D{}, note); err != nil {
		return err
	}
	if err := store.EachOwner(ctx, e.deferredEvents, bson.D{}, note); err != nil {
		return err
	}
	for ws := range workspaces {
		e.evaluator(ws) // Known to loadAll.
	}
	e.loadAll(ctx)
	return e.recover(ctx)
}

// loadAll loads the workspaces that are not loaded yet. Workspaces that fail are attempted again by the next call.
func (e *Engine) loadAll(ctx context.Context) {
	pass := e.Store.Pass(ctx, "load the automations of a workspace")
	e.each(func(t *workspaceEvaluator) bool {
		return t.isLoaded() || pass.Record(t.attempt(ctx, t.begin), "workspace", t.ws) == nil
	})
}

func (t *workspaceEvaluator) isLoaded() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.loaded
}

// begin loads the workspace, and begins to evaluate its backlog.
func (t *workspaceEvaluator) begin(ctx context.Context) error {
	t.mu.Lock()
	err := t.load(ctx)
	t.mu.Unlock()
	if err == nil {
		_, err = t.waiting(ctx)
	}
	return err
}

// recover passes on firings that are committed and may not have been passed on.
func (e *Engine) recover(ctx context.Context) error {
	var left []*trigger.Record
	err := e.buckets.EachAcross(ctx, store.Query{Filter: bson.D{{Key: "unsettled", Value: true}}}, func(ws uuid.UUID, b *orchv1.AutomationBucket) error {
		id, err := uuid.Parse(b.GetId())
		if err != nil {
			return nil //nolint:nilerr // It is not one of ours.
		}
		left = append(left, &trigger.Record{Workspace: ws, ID: id, Bucket: b})
		return nil
	})
	if err != nil {
		return err
	}
	pass := e.Store.Pass(ctx, "pass on the firings of an automation")
	for _, r := range left {
		err := e.with(r.Workspace, func(t *workspaceEvaluator) error {
			if wait, _ := t.quarantinedFor(e.now()); wait > 0 {
				return nil
			}
			return t.recover(ctx, r)
		})
		if pass.Record(err, "workspace", r.Workspace, "bucket", r.ID) != nil {
			break
		}
	}
	return ctx.Err() // Failed workspaces are attempted again.
}

func (t *workspaceEvaluator) recover(ctx context.Context, r *trigger.Record) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(ctx); err != nil {
		return err
	}
	automation, err1 := uuid.Parse(r.Bucket.GetAutomationId())
	triggerID, err2 := uuid.Parse(r.Bucket.GetTriggerId())
	if err1 != nil || err2 != nil {
		return errors.Join(err1, err2)
	}
	a := t.set.Automation(automation)
	if a == nil || a.Node(triggerID) == nil { // The automation is gone, or has other triggers now.
		return t.engine.buckets.DeleteMany(ctx, t.ws, bson.D{{Key: "_id", Value: store.Binary(r.ID)}})
	}
	session := trigger.NewSession(t.engine, t.engine.now())
	if err := session.PreloadTimers(ctx, t.ws, map[uuid.UUID]*trigger.Node{r.ID: a.Node(triggerID)}); err != nil {
		return err
	}
	return t.commit(ctx, session)
}

// consume evaluates the events of the stream.
func (e *Engine) consume(ctx context.Context) {
	opts := broker.ConsumeOptions{MaxEvents: maxBatch, ReuseMemory: true, Backoff: []time.Duration{redeliver, time.Second, 5 * time.Second}}
	if err := e.Broker.Consume(ctx, broker.DurableAutomations, opts, e.handle); err != nil && ctx.Err() == nil {
		e.Log.WarnContext(ctx, "failed to consume events for automations", "error", err)
	}
}

// handle evaluates a turn of each workspace of a batch, side by side, and defers the rest.
func (e *Engine) handle(ctx context.Context, batch []broker.Event) error {
	if err := e.Annotate(ctx, batch); err != nil {
		return err
	}
	var mu sync.Mutex
	rejected := &broker.Rejected{}
	pass := e.Store.Pass(ctx, "evaluate events of a workspace")
	var group sync.WaitGroup
	slots := make(chan struct{}, parallel) // Of its own: a batch does not wait for turns of backlogs.
	for ws, events := range groupByWorkspace(batch) {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			ctx, spans := broker.ContinueTraces(ctx, e.Tracer, "evaluate automations", events)
			var unreadable *broker.Rejected
			err := e.with(ws, func(t *workspaceEvaluator) (err error) {
				unreadable, err = t.accept(ctx, events)
				return err
			})
			spans.End(err)
			mu.Lock()
			defer mu.Unlock()
			rejected.Merge(unreadable)
			_ = pass.Record(err, "workspace", ws) // The workspaces are evaluated side by side, so there is none to leave out.
		})
	}
	group.Wait()
	return cmp.Or(pass.Outage(), rejected.Err())
}

// groupByWorkspace returns the events of each workspace in their order. Most batches have one workspace; they are not copied.
func groupByWorkspace(batch []broker.Event) map[uuid.UUID][]broker.Event {
	groups := map[uuid.UUID][]broker.Event{}
	if !slices.ContainsFunc(batch, func(e broker.Event) bool { return e.Workspace != batch[0].Workspace }) {
		groups[batch[0].Workspace] = batch
		return groups
	}
	for _, e := range batch {
		groups[e.Workspace] = append(groups[e.Workspace], e)
	}
	return groups
}

// tickTimers serves the timers when they are due.
func (e *Engine) tickTimers(ctx context.Context) {
	for ctx.Err() == nil {
		due, next := e.timers.take(e.now().UnixMicro(), tickBatch)
		if len(due) > 0 {
			e.serve(ctx, due)
			continue
		}
		wait := idleTick
		if next > 0 {
			wait = min(wait, time.Duration(next-e.now().UnixMicro())*time.Microsecond)
		}
		timer := time.NewTimer(max(wait, time.Millisecond))
		select {
		case <-ctx.Done():
		case <-e.timers.woken:
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (e *Engine) serve(ctx context.Context, due []*timer) {
	byWorkspace := map[uuid.UUID][]*timer{}
	for _, one := range due {
		byWorkspace[one.workspace] = append(byWorkspace[one.workspace], one)
	}
	var group sync.WaitGroup
	for ws, list := range byWorkspace {
		if !e.acquire(ctx) {
			break
		}
		group.Go(func() {
			defer e.release()
			_ = e.with(ws, func(t *workspaceEvaluator) error { // An error is logged, and the timers are served later.
				return e.serveWorkspace(ctx, t, list)
			})
		})
	}
	group.Wait()
}

func (e *Engine) serveWorkspace(ctx context.Context, t *workspaceEvaluator, list []*timer) error {
	if wait, _ := t.quarantinedFor(e.now()); wait > 0 {
		e.timers.back(list, e.now().Add(wait).UnixMicro())
		return nil
	}
	err := t.tick(ctx, list)
	if err == nil {
		return nil
	}
	if ctx.Err() == nil {
		e.Log.WarnContext(ctx, "failed to serve the timers of automations; retrying", "workspace", t.ws, "error", err)
	}
	retry := retryTick
	if !transient(err) {
		retry = lastRetry
	}
	e.timers.back(list, e.now().Add(retry).UnixMicro())
	return err
}

// keep does what is due now and then.
func (e *Engine) keep(ctx context.Context) {
	forget := e.now()
	for clock.Pause(ctx, recoverEvery) {
		e.loadAll(ctx)
		errs := []error{e.recover(ctx)}
		pass := e.Store.Pass(ctx, "release events that wait for others")
		e.each(func(t *workspaceEvaluator) bool {
			wait, _ := t.quarantinedFor(e.now())
			return wait > 0 || pass.Record(t.expire(ctx), "workspace", t.ws) == nil
		})
		if e.now().Sub(forget) >= forgetEvery {
			forget = e.now()
			e.dropIdle()
			errs = append(errs, e.Forget(ctx))
		}
		e.Metrics.timers.Set(float64(e.timers.size()))
		e.measureBacklogs()
		if err := errors.Join(errs...); err != nil && ctx.Err() == nil {
			e.Log.WarnContext(ctx, "failed to maintain automations", "error", err)
		}
	}
}
