package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// sampleEvery is how often metrics are computed. MaxSamples and maxSampleBytes bound the events of one computation.
	sampleEvery    = 15 * time.Second
	maxSamples     = 50_000
	maxSampleBytes = 8 << 20
	// maxStateNames bounds the names of events by which a computation selects them.
	maxStateNames = 64
)

// sample computes the metrics that triggers watch, now and then. A workspace that is not done yet is left out.
func (e *Engine) sample(ctx context.Context) {
	for clock.Pause(ctx, sampleEvery) {
		e.each(func(t *workspaceEvaluator) bool {
			if t.sampling.CompareAndSwap(false, true) && !e.spawn(t.sampleAll) {
				t.sampling.Store(false)
			}
			return true
		})
	}
}

// sampleAll computes the metrics of a workspace one after another. Between two it waits behind the other workspaces.
func (t *workspaceEvaluator) sampleAll(ctx context.Context) {
	defer t.sampling.Store(false)
	t.mu.Lock()
	metrics := t.set.Metrics()
	t.mu.Unlock()
	for _, n := range metrics {
		if !t.engine.acquire(ctx) {
			return
		}
		err := t.sample(ctx, n)
		t.engine.release()
		if err != nil && ctx.Err() == nil {
			t.engine.Log.WarnContext(ctx, "failed to compute a metric of an automation", "automation", n.Automation.ID, "error", err)
		}
	}
}

// sample computes one metric. The workspace's events are evaluated meanwhile.
func (t *workspaceEvaluator) sample(ctx context.Context, n *trigger.Node) error {
	now := t.engine.now()
	events, err := t.runEvents(ctx, n, now.Add(-n.Metric.GetMetric().GetRange().AsDuration()))
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.set.Automation(n.Automation.ID)
	if a == nil || !a.Enabled() || a.Node(n.ID) == nil {
		return nil // It was changed meanwhile.
	}
	n = a.Node(n.ID)
	session := trigger.NewSession(t.engine, now)
	if err := fireMetric(ctx, session, n, events, now.UnixMicro()); err != nil {
		return err
	}
	return t.commit(ctx, session)
}

// fireMetric computes a metric over the state events of runs, and applies it to its trigger.
func fireMetric(ctx context.Context, session *trigger.Session, n *trigger.Node, events []trigger.RunEvent, now int64) error {
	sample := trigger.Measure(n.Metric.GetMetric(), events, now)
	return session.Fire(ctx, n, func(b *orchv1.AutomationBucket) *orchv1.AutomationFiring { return n.ApplyMetric(b, sample, now) })
}

// runEvents reads the state events of the flow runs that a metric is about, in their order.
func (t *workspaceEvaluator) runEvents(ctx context.Context, n *trigger.Node, since time.Time) ([]trigger.RunEvent, error) {
	filter, err := t.stateEvents(ctx)
	if err != nil || filter == nil {
		return nil, err
	}
	filter = append(filter, bson.E{Key: "occurred", Value: bson.D{{Key: "$gte", Value: since.UnixMicro()}}})
	var events []trigger.RunEvent
	size := 0
	newest := store.Query{
		Filter: filter,
		Fields: []string{"event", "occurred", "resource", "related"}, Sort: bson.D{{Key: "occurred", Value: -1}, {Key: "_id", Value: -1}},
	}
	undecodable := t.engine.Store.Pass(ctx, "decode an event for a metric")
	err = store.EachRaw(ctx, t.engine.events, t.ws, newest, func(raw bson.Raw) bool {
		e, err := t.engine.events.Decode(raw)
		if err != nil {
			return undecodable.Record(err, "workspace", t.ws) == nil
		}
		if run, ok := runEvent(t.engine.Vocabulary, n, e); ok {
			events = append(events, run)
			size += int(unsafe.Sizeof(run)) + len(run.State)
		}
		return len(events) < maxSamples && size < maxSampleBytes
	})
	slices.Reverse(events)
	return events, errors.Join(err, undecodable.Outage())
}

// stateEvents returns a filter that lets the events of flow runs pass; nil if there are none. It lists their names, which are
// few, so an index leaves out other events. If clients invented too many names, the filter is empty.
func (t *workspaceEvaluator) stateEvents(ctx context.Context) (bson.D, error) {
	prefix := t.engine.Vocabulary.Name("flow-run", "")
	end := strings.TrimSuffix(prefix, ".") + "/" // The next character after a dot.
	names, err := t.engine.events.Distinct(ctx, t.ws, "event", bson.D{{Key: "event", Value: bson.D{{Key: "$gte", Value: prefix}, {Key: "$lt", Value: end}}}})
	switch {
	case err != nil || len(names) == 0:
		return nil, err
	case len(names) > maxStateNames:
		return bson.D{}, nil
	}
	return bson.D{{Key: "event", Value: bson.D{{Key: "$in", Value: names}}}}, nil
}

// runEvent reads an event of a flow run's state. It returns false for other events, and for runs that the metric excludes.
func runEvent(v vocabulary.Vocabulary, n *trigger.Node, e *orchv1.ReceivedEvent) (trigger.RunEvent, bool) {
	prefix := v.Name("flow-run", "")
	state, isState := strings.CutPrefix(e.GetEvent(), prefix)
	if !isState || !n.Filter.TakesResource(e) {
		return trigger.RunEvent{}, false
	}
	run, err := uuid.Parse(strings.TrimPrefix(e.GetResource().GetLabels()[v.ResourceID()], prefix))
	return trigger.RunEvent{Run: run, State: strings.Clone(state), At: e.GetOccurred().AsTime().UnixMicro()}, err == nil
}
