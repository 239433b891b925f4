package action

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// maxCollectedBytes bounds the firings of a batch. A larger firing completes it at once.
	maxCollectedBytes = 256 << 10
	// maxLedger bounds the ended action runs in a ledger. One process executes fewer action runs at once.
	maxLedger = 256
)

// collect adds the firing of an action run to the collected run of its key, which debounce or batch creates. The id of the collected run
// derives from the first action run, so its flow run is created once.
func (r *Runner) collect(ctx context.Context, o *result, ws uuid.UUID, run *orchv1.AutomationActionRun, action *orchv1.RunDeployment) *result {
	feature, template := "debounce", action.GetDebounce().GetKey()
	if action.GetBatch() != nil {
		feature, template = "batch", action.GetBatch().GetKey()
	}
	text, ok := r.renderKey(ctx, o, run, template)
	if !ok {
		return o
	}
	key, err := newKey(run, feature, text)
	if err != nil {
		return o.later(err)
	}
	id, err := uuid.Parse(run.GetId())
	if err != nil {
		return o.fail("The action run has no valid id.")
	}
	var stored *orchv1.AutomationKey
	err = r.changeKey(ctx, ws, key, r.completing(ws, func(next *orchv1.AutomationKey) error {
		stored = next
		if !inLedger(next.GetLedger(), id) {
			add(next, id, run, r.Store.Now())
		}
		return nil
	}))
	if err != nil {
		return keyFailed(o, err)
	}
	o.details["collected_by"] = map[string]any{"feature": feature, "key": text}
	if len(stored.GetLedger()) > 2*maxLedger*len(id) {
		if err := r.shorten(ctx, ws, stored); err != nil {
			r.Log.WarnContext(ctx, "failed to shorten the ledger of a key", "key", key.GetId(), "error", err)
		}
	}
	return o
}

// add adds an action run to the collected run of its key, and sets the time at which the collected run is complete.
func add(key *orchv1.AutomationKey, id uuid.UUID, run *orchv1.AutomationActionRun, now time.Time) {
	key.Ledger = append(key.Ledger, id[:]...)
	if key.Collected == nil {
		key.Collected = &orchv1.AutomationActionRun{Id: uuid.NewSHA1(id, []byte("collected")).String(), Collected: true, Firing: &orchv1.AutomationFiring{}}
		key.Opened = proto.Int64(now.UnixMicro())
	}
	collected, action := key.GetCollected(), run.GetAction().GetRunDeployment()
	firings := collected.GetFiring().GetChildren()
	if run.GetFiring().GetTriggered() >= collected.GetFiring().GetTriggered() {
		collected.Automation, collected.Action, collected.Index = run.GetAutomation(), run.GetAction(), run.GetIndex()
		collected.TriggeredEventId, collected.OnState = run.GetTriggeredEventId(), run.GetOnState()
		collected.Firing = proto.CloneOf(run.GetFiring())
		collected.Firing.Id = collected.GetId()
	}
	opened := time.UnixMicro(key.GetOpened())
	batch, debounce := action.GetBatch(), action.GetDebounce()
	if batch == nil {
		due := now.Add(debounce.GetPeriod().AsDuration())
		if last := opened.Add(debounce.GetTimeout().AsDuration()); last.Before(due) {
			due = last
		}
		key.Due = due.UnixMicro()
		return
	}
	collected.Firing.Children = append(firings, run.GetFiring())
	key.Due = opened.Add(batch.GetTimeout().AsDuration()).UnixMicro()
	if int64(len(collected.GetFiring().GetChildren())) >= batch.GetMaxEvents() || proto.Size(collected.GetFiring()) >= maxCollectedBytes {
		key.Due = now.UnixMicro()
	}
}

// completing returns the decision that changes a key, and completes its collected run if that is due then.
func (r *Runner) completing(ws uuid.UUID, change func(next *orchv1.AutomationKey) error) store.Decide[*orchv1.AutomationKey] {
	var completed *orchv1.AutomationActionRun
	return store.Edit(func(next *orchv1.AutomationKey) error {
		completed = nil
		if err := change(next); err != nil {
			return err
		}
		now := r.Store.Now()
		if next.GetCollected() == nil || next.GetDue() > now.UnixMicro() {
			return nil
		}
		completed = next.GetCollected()
		completed.Next = proto.Int64(now.UnixMicro())
		slices.SortStableFunc(completed.GetFiring().GetChildren(), func(a, b *orchv1.AutomationFiring) int {
			return cmp.Compare(a.GetTriggered(), b.GetTriggered())
		})
		next.Collected, next.Opened, next.Due = nil, nil, now.Add(idleKey).UnixMicro()
		return nil
	}, func(_, _ *orchv1.AutomationKey) ([]store.Effect, error) {
		if completed == nil {
			return nil, nil
		}
		effect, err := store.MessageEffect(KindCollected, r.Store.NewID(), r.Store.Now(), ws, completed)
		return []store.Effect{effect}, err
	})
}

// completeDue stores the collected run of a key whose time has come.
func (r *Runner) completeDue(ctx context.Context, ws uuid.UUID, key *orchv1.AutomationKey) error {
	id, err := uuid.Parse(key.GetId())
	if err != nil {
		return fmt.Errorf("read the id of a key: %w", err)
	}
	_, err = r.keys.Mutate(ctx, ws, id, r.completing(ws, func(*orchv1.AutomationKey) error { return nil }))
	return err
}

// shorten removes ended action runs from a ledger.
func (r *Runner) shorten(ctx context.Context, ws uuid.UUID, key *orchv1.AutomationKey) error {
	old := key.GetLedger()[:maxLedger*len(uuid.UUID{})]
	unfinished, err := r.unfinished(ctx, ws, old)
	if err != nil {
		return err
	}
	return r.changeKey(ctx, ws, key, store.Edit(func(next *orchv1.AutomationKey) error {
		if len(next.GetLedger()) < len(old) || !slices.Equal(next.GetLedger()[:len(old)], old) {
			return nil // Another process has shortened it.
		}
		var ledger []byte
		for _, id := range ledgerIDs(old) {
			if unfinished[id] {
				ledger = append(ledger, id[:]...)
			}
		}
		next.Ledger = append(ledger, next.GetLedger()[len(old):]...)
		return nil
	}, nil))
}

// withEvents adds the list of all events of a run's firings to its parameters.
func withEvents(parameters []byte, name string, run *orchv1.AutomationActionRun) ([]byte, error) {
	object := jsontree.NewObject()
	if parameters != nil {
		var err error
		if object, err = jsontree.ParseObject(parameters); err != nil {
			return nil, err
		}
	}
	list := jsontree.List{}
	var failure error
	eachFiring(run.GetFiring(), func(f *orchv1.AutomationFiring) {
		if f.GetEvent() == nil || len(f.GetChildren()) > 0 {
			return
		}
		text, err := restjson.Marshal(f.GetEvent())
		if err != nil {
			failure = cmp.Or(failure, err)
			return
		}
		event, err := jsontree.Parse(string(text))
		failure = cmp.Or(failure, err)
		list = append(list, event)
	})
	object.Set(name, list)
	return jsontree.Text(object), failure
}
