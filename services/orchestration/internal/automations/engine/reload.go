package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// reload reads automations again: those of ids, or all for nil. Buckets of triggers that are gone are removed. After an error the
// automations are those from before, so a repetition finds the same changes.
func (t *workspaceEvaluator) reload(ctx context.Context, ids []uuid.UUID) (err error) {
	before := t.set
	next := map[uuid.UUID]*trigger.Automation{}
	var filter bson.D
	if ids != nil {
		next = maps.Clone(before.Automations())
		list := make(bson.A, len(ids))
		for i, id := range ids {
			delete(next, id)
			list[i] = store.Binary(id)
		}
		filter = bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: list}}}}
	}
	var changed []*trigger.Automation
	pass := t.engine.Store.Pass(ctx, "compile an automation")
	err = t.engine.automations.Each(ctx, t.ws, store.Query{Filter: filter, Sort: bson.D{{Key: "_id", Value: 1}}}, func(a *orchv1.Automation) bool {
		one, err := trigger.Compile(t.ws, a, t.engine.Vocabulary)
		if err == nil {
			changed = append(changed, one)
			next[one.ID] = one
		}
		return pass.Record(err, "workspace", t.ws, "automation", a.GetId()) == nil
	})
	if err = errors.Join(err, pass.Outage()); err != nil {
		return err
	}
	t.use(trigger.NewSet(slices.Collect(maps.Values(next))...))
	if err := t.settleChanges(ctx, before, changed); err != nil {
		t.use(before)
		return err
	}
	return nil
}

// settleChanges does what changes of automations cause: buckets go, timers return, and windows open.
func (t *workspaceEvaluator) settleChanges(ctx context.Context, before *trigger.Set, changed []*trigger.Automation) error {
	for id, was := range before.Automations() {
		if a := t.set.Automation(id); a != nil && a.Root.ID == was.Root.ID {
			continue
		}
		delete(t.keys, id)
		gone := bson.D{{Key: "automation_id", Value: store.Binary(id)}, {Key: "unsettled", Value: bson.D{{Key: "$exists", Value: false}}}}
		if err := t.engine.buckets.DeleteMany(ctx, t.ws, gone); err != nil {
			return err
		}
	}
	for _, a := range changed {
		if was := before.Automation(a.ID); t.loaded && a.Enabled() && was != nil && !was.Enabled() {
			if err := t.rearm(ctx, a.ID); err != nil {
				return err
			}
		}
	}
	session := trigger.NewSession(t.engine, t.engine.now())
	if err := begin(ctx, session, t.ws, changed...); err != nil {
		return err
	}
	return session.Commit(ctx)
}

// rearm sets the timers of an automation that was enabled again.
func (t *workspaceEvaluator) rearm(ctx context.Context, automation uuid.UUID) error {
	filter := bson.D{{Key: "automation_id", Value: store.Binary(automation)}, {Key: "due", Value: bson.D{{Key: "$gt", Value: int64(0)}}}}
	return t.engine.buckets.Each(ctx, t.ws, store.Query{Filter: filter, Sort: bson.D{{Key: "_id", Value: 1}}}, func(b *orchv1.AutomationBucket) bool {
		t.engine.timers.set(t.ws, b)
		return true
	})
}

// begin opens the windows of triggers that miss events from the moment on that they exist. Windows that are open stay so.
func begin(ctx context.Context, session *trigger.Session, ws uuid.UUID, automations ...*trigger.Automation) error {
	nodes := map[uuid.UUID]*trigger.Node{}
	for _, a := range automations {
		for _, n := range a.Leaves {
			if a.Enabled() && n.Proactive && !n.After && len(n.KeyLabels) == 0 {
				nodes[trigger.BucketID(n.ID, nil)] = n
			}
		}
	}
	if err := session.PreloadTimers(ctx, ws, nodes); err != nil {
		return err
	}
	for _, n := range nodes {
		if err := session.Begin(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// changedBy returns the automations that events of a batch change, each once; nil if one of them is unknown.
func (t *workspaceEvaluator) changedBy(events []Incoming) []uuid.UUID {
	v := t.engine.Vocabulary
	changed := map[uuid.UUID]bool{}
	for i := range events {
		if !changesAutomations(v, events[i].Name()) {
			continue
		}
		e, err := events[i].Decode()
		if err != nil {
			continue // It is rejected when its turn comes.
		}
		id, err := uuid.Parse(strings.TrimPrefix(e.GetResource().GetLabels()[v.ResourceID()], v.Name("automation", "")))
		if err != nil {
			return nil
		}
		changed[id] = true
	}
	return slices.Collect(maps.Keys(changed))
}
