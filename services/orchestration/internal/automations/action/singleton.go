package action

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// maxQueue bounds the action runs that wait for one key.
	maxQueue = 1000
	// cancellingTimeout is how long a run that is being cancelled counts as unfinished.
	cancellingTimeout = time.Minute
	// A queue is examined after a tenth of the time for which it has waited, within these bounds.
	minQueueWait = time.Second
	maxQueueWait = 15 * time.Second
)

// admission is the decision of a singleton about an action run.
type admission int

const (
	admitted   admission = iota // The action run becomes the active one of the key, and creates a flow run.
	waiting                     // The action run is in the queue.
	skipped                     // The action run creates no flow run.
	superseded                  // A later action run replaces this one.
	queueFull                   // The queue is full.
)

// admit decides for an action run, and changes the key accordingly. free tells whether the key has no unfinished flow run. An action run that
// is repeated after a crash gets the same decision, as long as the key is not free meanwhile.
//
// A superseded action run stays in the queue until it has ended, so a repetition finds the later one behind it.
func admit(key *orchv1.AutomationKey, run string, mode orchv1.SingletonMode, free bool, now time.Time) admission {
	queue := key.GetQueue()
	queued := slices.Contains(queue, run)
	replace := mode == orchv1.SingletonMode_SINGLETON_MODE_REPLACE
	switch {
	case key.GetActive() == run:
		return admitted
	case replace && queued && queue[len(queue)-1] != run:
		return superseded
	case free && (replace || len(queue) == 0 || queue[0] == run):
		if replace && len(queue) > 0 && !queued {
			key.Queue = append(key.Queue, run) // Behind those that it replaces.
		}
		if len(key.GetQueue()) > 0 && key.GetQueue()[0] == run {
			key.Queue = key.GetQueue()[1:]
		}
		key.Active, key.FlowRunId = run, ""
		scheduleQueue(key, true, now)
		return admitted
	case queued:
		return waiting
	case mode == orchv1.SingletonMode_SINGLETON_MODE_SKIP:
		return skipped
	case len(queue) >= maxQueue:
		return queueFull
	}
	key.Queue = append(key.Queue, run)
	scheduleQueue(key, len(queue) == 0, now)
	return waiting
}

// scheduleQueue sets the time at which a key is examined next. again tells that the queue begins to wait.
func scheduleQueue(key *orchv1.AutomationKey, again bool, now time.Time) {
	if len(key.GetQueue()) == 0 {
		key.WaitingSince, key.Due = nil, now.Add(idleKey).UnixMicro()
		return
	}
	if again || key.WaitingSince == nil {
		key.WaitingSince = proto.Int64(now.UnixMicro())
	}
	waited := now.Sub(time.UnixMicro(key.GetWaitingSince()))
	key.Due = now.Add(min(maxQueueWait, max(minQueueWait, waited/10))).UnixMicro()
}

// enter makes an action run the active one of its key and returns the key. It returns nil, and the result has the reason, if the action run
// may not create a flow run now.
func (r *Runner) enter(
	ctx context.Context, o *result, ws uuid.UUID, run *orchv1.AutomationActionRun, singleton *orchv1.Singleton,
) *orchv1.AutomationKey {
	text, ok := r.renderKey(ctx, o, run, singleton.GetKey())
	if !ok {
		return nil
	}
	key, err := newKey(run, "singleton", text)
	if err != nil {
		o.later(err)
		return nil
	}
	decided, current, err := r.admitRun(ctx, ws, key, run, singleton.GetMode())
	if err != nil {
		keyFailed(o, err)
		return nil
	}
	if decided == admitted {
		return key
	}
	word := map[admission]string{waiting: "waiting", skipped: "skipped", superseded: "replaced", queueFull: "full"}[decided]
	o.details["singleton"] = map[string]any{"key": text, "result": word}
	if current != nil {
		r.relate(o, "flow-run", current.GetId(), "unfinished-flow-run", current.GetName())
	}
	switch decided {
	case queueFull:
		o.fail("Unable to create flow run from deployment: %d runs wait for the key already", maxQueue)
	case waiting:
		o.queued = true
		if singleton.GetMode() == orchv1.SingletonMode_SINGLETON_MODE_REPLACE && current != nil {
			r.cancelReplaced(ctx, o, run, current)
		}
	}
	return nil
}

// admitRun decides for an action run, and returns the unfinished flow run of the key, nil if there is none.
func (r *Runner) admitRun(
	ctx context.Context, ws uuid.UUID, key *orchv1.AutomationKey, run *orchv1.AutomationActionRun, mode orchv1.SingletonMode,
) (decided admission, current *orchv1.FlowRun, err error) {
	id, err := uuid.Parse(key.GetId())
	if err != nil {
		return decided, nil, fmt.Errorf("read the id of a key: %w", err)
	}
	for range 10 {
		stored, err := r.keys.Get(ctx, ws, id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return decided, nil, err
		}
		free, current, err := r.free(ctx, ws, stored)
		if err != nil {
			return decided, nil, err
		}
		err = r.changeKey(ctx, ws, key, store.Edit(func(next *orchv1.AutomationKey) error {
			if next.GetActive() != stored.GetActive() || next.GetFlowRunId() != stored.GetFlowRunId() {
				return errKeyChanged
			}
			decided = admit(next, run.GetId(), mode, free, r.Store.Now())
			return nil
		}, nil))
		if !errors.Is(err, errKeyChanged) {
			return decided, current, err
		}
	}
	return decided, nil, errKeyChanged
}

// free reports whether a key has no unfinished flow run, and returns the unfinished one: nil if there is none, or while it is being created.
// ctx is that of the calls of an automation.
func (r *Runner) free(ctx context.Context, ws uuid.UUID, key *orchv1.AutomationKey) (bool, *orchv1.FlowRun, error) {
	if key.GetActive() == "" {
		return true, nil, nil
	}
	active, err := uuid.Parse(key.GetActive())
	if err != nil {
		return true, nil, nil //nolint:nilerr // Nothing can have this id.
	}
	run, err := r.runs.Get(ctx, ws, active)
	switch {
	case errors.Is(err, store.ErrNotFound): // It ended long ago.
	case err != nil:
		return false, nil, err
	case run.Expires == nil:
		return r.flowRunEnded(ctx, key, false)
	case run.GetReason() != "":
		return true, nil, nil
	}
	return r.flowRunEnded(ctx, key, true)
}

// flowRunEnded reports whether the flow run of a key has ended or does not exist, and its action run has settled. It returns the flow run
// otherwise.
func (r *Runner) flowRunEnded(ctx context.Context, key *orchv1.AutomationKey, settled bool) (bool, *orchv1.FlowRun, error) {
	if key.GetFlowRunId() == "" {
		return settled, nil, nil
	}
	response, _, err := r.Caller.Call(ctx, orchv1.FlowRunService_ReadFlowRun_FullMethodName, &orchv1.ReadFlowRunRequest{Id: key.GetFlowRunId()})
	if err != nil {
		if httpStatus(err) == http.StatusNotFound {
			return settled, nil, nil
		}
		return false, nil, fmt.Errorf("read the flow run of a key: %w", err)
	}
	current, ok := response.(*orchv1.FlowRun)
	if !ok {
		return false, nil, fmt.Errorf("read the flow run of a key: the response is a %T", response)
	}
	state := current.GetState()
	stuck := state.GetType() == orchv1.StateType_STATE_TYPE_CANCELLING && r.Store.Now().Sub(state.GetTimestamp().AsTime()) > cancellingTimeout
	if settled && (rules.Terminal(state.GetType()) || stuck) {
		return true, nil, nil
	}
	return false, current, nil
}

// cancelReplaced cancels the unfinished flow run of a key. A failure is worth another attempt.
func (r *Runner) cancelReplaced(ctx context.Context, o *result, run *orchv1.AutomationActionRun, current *orchv1.FlowRun) {
	switch state := current.GetState().GetType(); {
	case state == orchv1.StateType_STATE_TYPE_CANCELLING, rules.Terminal(state):
		return
	}
	_, _, err := r.Caller.Call(ctx, orchv1.FlowRunService_SetFlowRunState_FullMethodName, &orchv1.SetFlowRunStateRequest{
		Id: current.GetId(), Transition: &orchv1.FlowRunTransition{State: &orchv1.StateCreate{
			Type: orchv1.StateType_STATE_TYPE_CANCELLING, Message: proto.String("Replaced by Automation " + run.GetAutomation().GetId()),
		}},
	})
	if err != nil && httpStatus(err) != http.StatusNotFound {
		o.queued = false
		o.later(fmt.Errorf("cancel flow run %s: %w", current.GetId(), err))
	}
}

// occupy stores the id of the flow run that the active action run of a key has created.
func (r *Runner) occupy(ctx context.Context, ws uuid.UUID, key *orchv1.AutomationKey, run *orchv1.AutomationActionRun, flowRun string) error {
	return r.changeKey(ctx, ws, key, store.Edit(func(next *orchv1.AutomationKey) error {
		if next.GetActive() == run.GetId() {
			next.FlowRunId = flowRun
		}
		return nil
	}, nil))
}

// wakeQueue removes ended action runs from the head of a queue, and makes those due that can go on.
func (r *Runner) wakeQueue(ctx context.Context, ws uuid.UUID, key *orchv1.AutomationKey) error {
	free, _, err := r.free(ctx, ws, key)
	if err != nil {
		return err
	}
	open, ended, err := r.openRuns(ctx, ws, key.GetQueue())
	if err != nil {
		return err
	}
	if len(open) > 0 {
		if err := r.wakeOpen(ctx, ws, open, free); err != nil {
			return err
		}
	}
	return r.changeKey(ctx, ws, key, store.Edit(func(next *orchv1.AutomationKey) error {
		if len(next.GetQueue()) < ended || !slices.Equal(next.GetQueue()[:ended], key.GetQueue()[:ended]) {
			return errKeyChanged
		}
		next.Queue = next.GetQueue()[ended:]
		scheduleQueue(next, false, r.Store.Now())
		return nil
	}, nil))
}

// openRuns returns the action runs of a queue that have not ended, in its order, and how many ended ones are before the first of them.
func (r *Runner) openRuns(ctx context.Context, ws uuid.UUID, queue []string) (open []uuid.UUID, ended int, err error) {
	ids := make([]uuid.UUID, 0, len(queue))
	for _, text := range queue {
		id, err := uuid.Parse(text)
		if err != nil {
			return nil, 0, fmt.Errorf("read the queue of a key: %w", err)
		}
		ids = append(ids, id)
	}
	runs, err := r.runs.Find(ctx, ws, store.Query{Filter: bson.D{{Key: "_id", Value: store.OneOf(ids)}}, Fields: []string{"_id", "expires"}})
	if err != nil {
		return nil, 0, err
	}
	found := map[string]bool{}
	for _, run := range runs {
		found[run.GetId()] = run.Expires == nil
	}
	for i, id := range ids {
		switch {
		case found[queue[i]]:
			open = append(open, id)
		case len(open) == 0:
			ended++
		}
	}
	return open, ended, nil
}

// wakeOpen makes action runs of a queue due: the first one if the key is free, and all if they replace each other.
func (r *Runner) wakeOpen(ctx context.Context, ws uuid.UUID, open []uuid.UUID, free bool) error {
	first, err := r.runs.Get(ctx, ws, open[0])
	if err != nil {
		return err
	}
	switch replace := first.GetAction().GetRunDeployment().GetSingleton().GetMode() == orchv1.SingletonMode_SINGLETON_MODE_REPLACE; {
	case !replace && !free:
		return nil
	case !replace:
		open = open[:1]
	}
	for _, id := range open {
		if err := r.wakeRun(ctx, ws, id); err != nil {
			return err
		}
	}
	return nil
}
