package action

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/tracing"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/engine"
	"github.com/orch-project/orch/services/orchestration/internal/egress"
	"github.com/orch-project/orch/services/orchestration/internal/leader"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/workspacelimit"
)

const (
	// parallel bounds the executions at once in this process, and maxShare the executions of one workspace.
	parallel = 128
	maxShare = 8
	// pollEvery is how often due runs are looked for that nobody woke the runner for.
	pollEvery = time.Second
	// timeLimit bounds one execution.
	timeLimit = 90 * time.Second
	// maxAttempts bounds the attempts of an action on this server, with waits between firstRetry and its multiples.
	maxAttempts = 4
	firstRetry  = time.Second
	// keepFor is how long a run is kept after its end: until then its firing is recognised as a duplicate.
	keepFor = 24 * time.Hour
)

// Name implements run.Worker.
func (r *Runner) Name() string { return "automation actions" }

// Run executes due runs until the context ends.
func (r *Runner) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	busy := workspacelimit.New(parallel, maxShare)
	from := uuid.Nil // The workspace after which the next look begins.
	for {
		var err error
		from, err = r.dispatchDue(ctx, from, busy, func(one store.Owned[*orchv1.AutomationActionRun]) {
			group.Go(func() {
				again := r.execute(ctx, one.Workspace, one.Message)
				busy.Release(one.Workspace, one.Message.GetId())
				if again {
					r.Wake()
				}
			})
		})
		if err != nil && ctx.Err() == nil {
			r.Log.WarnContext(ctx, "failed to read the due actions", "error", err)
		}
		if err := r.examineKeys(ctx); err != nil && ctx.Err() == nil {
			r.Log.WarnContext(ctx, "failed to examine the keys of automations", "error", err)
		}
		timer := time.NewTimer(pollEvery)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-r.woken:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// execute claims a run, does what it says and settles it. It reports whether others may be waiting for the share.
func (r *Runner) execute(ctx context.Context, ws uuid.UUID, due *orchv1.AutomationActionRun) bool {
	id, err := uuid.Parse(due.GetId())
	if err != nil {
		return false
	}
	claimed, err := r.claim(ctx, ws, id)
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, errTaken) && !errors.Is(err, store.ErrNotFound) {
			r.Log.WarnContext(ctx, "failed to claim an action", "action", id, "error", err)
		}
		return false
	}
	result, span, err := r.actWithin(ctx, claimed)
	ended := ctx.Err() != nil
	if ended {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), endWithin)
		defer cancel()
	}
	switch {
	case err != nil:
	case ended && result.reason != "": // Perhaps because the process ends.
		err = claimed.release(ctx)
	default:
		if err = r.wakeNext(ctx, ws, claimed.run); err == nil {
			err = r.settle(trace.ContextWithSpan(ctx, span), claimed, result)
		}
	}
	if err != nil && !errors.Is(err, errTaken) { // The deliveries of the action may have ended it already.
		r.Log.WarnContext(ctx, "failed to record the result of an action", "action", id, "error", err)
	}
	return !ended
}

// actWithin does what an action says within the time limit, while it holds the claim of the run. Its error is leader.ErrLost if the claim was
// lost meanwhile.
func (r *Runner) actWithin(ctx context.Context, claimed *claim) (*result, trace.Span, error) {
	within, stop := context.WithTimeout(ctx, timeLimit)
	defer stop()
	within, lose := context.WithCancelCause(within)
	defer lose(nil)
	var holder sync.WaitGroup
	renewing, end := context.WithCancel(within)
	ticker := time.NewTicker(leader.RenewEvery)
	defer ticker.Stop()
	holder.Go(func() { lose(leader.Renew(renewing, ticker.C, time.Now(), leader.Duration, claimed.renew)) })
	within, span := r.Tracer.Continue(within, "action "+engine.ActionType(claimed.run.GetAction()), cause(claimed.run))
	result := r.act(within, claimed.ws, claimed.run)
	end()
	holder.Wait()
	tracing.End(span, result.err())
	if cause := context.Cause(within); errors.Is(cause, leader.ErrLost) {
		return nil, span, cause
	}
	return result, span, nil
}

// cause is the trace of the event that a firing is due to.
func cause(run *orchv1.AutomationActionRun) tracing.Parent {
	reason := run.GetFiring().GetEvent()
	return tracing.Parent{Trace: reason.GetTraceparent(), State: reason.GetTracestate()}
}

// wakeNext makes the firing's next action due, if that waits for this one. Actions begin in their order; one that is tried
// again does not delay the others.
func (r *Runner) wakeNext(ctx context.Context, ws uuid.UUID, run *orchv1.AutomationActionRun) error {
	firing, err := uuid.Parse(run.GetFiring().GetId())
	if err != nil {
		return fmt.Errorf("read the firing of an action: %w", err)
	}
	a := run.GetAutomation()
	if int(run.GetIndex())+1 >= len(a.GetActions())+max(len(a.GetActionsOnTrigger()), len(a.GetActionsOnResolve())) {
		return nil
	}
	return r.wakeRun(ctx, ws, engine.ActionRunID(firing, int(run.GetIndex())+1))
}

// wakeRun makes a run due that waits for another one.
func (r *Runner) wakeRun(ctx context.Context, ws, id uuid.UUID) error {
	_, err := r.runs.Mutate(ctx, ws, id, store.Edit(func(next *orchv1.AutomationActionRun) error {
		if next.Next != nil || next.Expires != nil {
			return errTaken
		}
		next.Next = proto.Int64(r.Store.Now().UnixMicro())
		return nil
	}, nil))
	if errors.Is(err, errTaken) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	r.Wake()
	return err
}

// settle publishes how an execution ended, writes a dead letter for a permanent failure, and ends the run. It makes the run due again
// after a failure for now, and leaves a run that waits to the queue of its key.
func (r *Runner) settle(ctx context.Context, claimed *claim, result *result) error {
	run := claimed.run
	if result.queued {
		return claimed.edit(ctx, func(next *orchv1.AutomationActionRun) {
			next.Attempts--
			next.Next, next.Reason, next.Related = nil, "", result.related
		})
	}
	if wait, again := r.nextAttempt(run, result); again {
		return claimed.edit(ctx, func(next *orchv1.AutomationActionRun) {
			next.Next, next.Reason = proto.Int64(r.Store.Now().Add(wait).UnixMicro()), result.reason
		})
	}
	if err := r.publish(ctx, claimed.ws, claimed.id, run, result); err != nil {
		return err
	}
	return r.end(ctx, claimed.ws, claimed.id, run, result, claimed.edit)
}

// nextAttempt returns the wait before the next attempt of an execution, and false after the last one.
func (r *Runner) nextAttempt(run *orchv1.AutomationActionRun, result *result) (wait time.Duration, again bool) {
	switch {
	case !result.transient:
		return 0, false
	case result.outside:
		left := microTime(run.GetFiring().GetTriggered()).Add(egress.RetryFor).Sub(r.Store.Now())
		return min(egress.RetryWait(int64(run.GetAttempts()), r.Random()), left), left > 0
	default:
		wait = firstRetry << (2 * (min(run.GetAttempts(), maxAttempts) - 1)) // 1 s, 4 s, 16 s.
		wait += time.Duration(r.Random() * float64(wait) / 2)
		return wait, run.GetAttempts() < maxAttempts
	}
}

// end counts the outcome of an action, writes a dead letter for a failure, and ends the run.
func (r *Runner) end(
	ctx context.Context, ws, id uuid.UUID, run *orchv1.AutomationActionRun, result *result,
	edit func(context.Context, func(next *orchv1.AutomationActionRun)) error,
) error {
	outcome := "executed"
	if result.reason != "" {
		outcome = "failed"
	}
	r.Count(engine.ActionType(run.GetAction()), outcome)
	if result.reason != "" {
		if err := r.deadLetter(ctx, ws, id, run, result.reason); err != nil {
			return err
		}
	}
	return edit(ctx, func(next *orchv1.AutomationActionRun) {
		next.Next, next.Reason = nil, result.reason
		next.Expires = proto.Int64(r.Store.Now().Add(keepFor).UnixMicro())
	})
}
