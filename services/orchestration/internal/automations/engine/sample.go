package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
)

const (
	// sampleEvery is how often metrics are computed, and maxSamples how many events one computation reads.
	sampleEvery = 15 * time.Second
	maxSamples  = 50_000
)

// sample computes the metrics that triggers watch, now and then.
func (e *Engine) sample(ctx context.Context) {
	for pause(ctx, sampleEvery) {
		var errs []error
		for _, t := range e.all() {
			errs = append(errs, t.sample(ctx))
		}
		if err := errors.Join(errs...); err != nil && ctx.Err() == nil {
			e.Log.WarnContext(ctx, "compute the metrics of automations", "error", err)
		}
	}
}

func (t *tenant) sample(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.engine.now()
	session := trigger.NewSession(t.engine, now)
	for _, n := range t.set.Metrics() {
		query := n.Metric.GetMetric()
		events, err := t.runEvents(ctx, n, now.Add(-query.GetRange().AsDuration()))
		if err != nil {
			return err
		}
		sample := trigger.Measure(query, events, now.UnixMicro())
		err = session.Fire(ctx, n, func(b *orchv1.AutomationBucket) *orchv1.AutomationFiring {
			return n.ApplyMetric(b, sample, now.UnixMicro())
		})
		if err != nil {
			return err
		}
	}
	t.limit(session)
	return session.Commit(ctx)
}

// runEvents reads the state events of the flow runs that a metric is about, in their order.
func (t *tenant) runEvents(ctx context.Context, n *trigger.Node, since time.Time) ([]trigger.RunEvent, error) {
	prefix := t.engine.Vocabulary.Name("flow-run", "")
	filter := bson.D{{Key: "occurred", Value: bson.D{{Key: "$gte", Value: since.UnixMicro()}}}}
	var events []trigger.RunEvent
	err := t.engine.events.Each(ctx, t.ws, filter, bson.D{{Key: "occurred", Value: -1}}, func(e *orchv1.ReceivedEvent) bool {
		state, isState := strings.CutPrefix(e.GetEvent(), prefix)
		run, err := uuid.Parse(strings.TrimPrefix(e.GetResource().GetLabels()[t.engine.Vocabulary.ResourceID()], prefix))
		if isState && err == nil && n.Filter.TakesResource(e) {
			events = append(events, trigger.RunEvent{Run: run, State: state, At: e.GetOccurred().AsTime().UnixMicro()})
		}
		return len(events) < maxSamples
	})
	slices.Reverse(events)
	return events, err
}
