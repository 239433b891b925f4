package action

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/egress"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// KindAction is the effect of a dead letter whose action failed permanently.
const KindAction = "automation.action"

// lettersPerHour bounds the dead letters of one automation. Further failures are events only.
const lettersPerHour = 100

// DeadLetter writes a dead letter of an automation, whose effect failed so many times.
type DeadLetter func(ctx context.Context, automation uuid.UUID, e store.Effect, attempts int, reason error) error

// deadLetter writes a dead letter for a run that failed permanently.
func (r *Runner) deadLetter(ctx context.Context, ws, id uuid.UUID, run *orchv1.AutomationActionRun, reason string) error {
	automation, err := uuid.Parse(run.GetAutomation().GetId())
	if err != nil {
		return fmt.Errorf("read the automation of an action: %w", err)
	}
	if r.letters.Add(automation, r.Store.Now()) > lettersPerHour {
		return nil
	}
	failed := proto.CloneOf(run)
	failed.Reason = reason
	effect, err := store.MessageEffect(KindAction, id, microTime(run.GetFiring().GetTriggered()), ws, failed)
	if err != nil {
		return fmt.Errorf("write the dead letter of an action: %w", err)
	}
	return r.DeadLetter(ctx, automation, effect, int(run.GetAttempts()), errors.New(reason))
}

// Retry executes the actions of dead letters once more. An action that succeeds is published as executed. Deliveries that failed are
// attempted again, and the action ends when they end.
func (r *Runner) Retry(ctx context.Context, effects []store.Effect) error {
	for _, e := range effects {
		run := &orchv1.AutomationActionRun{}
		ws, err := e.DecodeMessage(run)
		if err != nil {
			return err
		}
		if delivers(run.GetAction()) {
			if err := r.remember(ctx, ws, e.ID, run); err != nil {
				return err
			}
		}
		within, cancel := context.WithTimeout(ctx, timeLimit)
		result := r.act(within, ws, run)
		cancel()
		if result.queued && delivers(run.GetAction()) {
			continue
		}
		if result.queued {
			return errors.New("another run of the key is unfinished")
		}
		if result.reason != "" {
			return errors.New(result.reason)
		}
		if err := r.publishRetried(ctx, ws, e.ID, run, result); err != nil {
			return err
		}
	}
	return nil
}

// remember keeps the run of a dead letter until its deliveries have ended again.
func (r *Runner) remember(ctx context.Context, ws, id uuid.UUID, run *orchv1.AutomationActionRun) error {
	expires := r.Store.Now().Add(keepFor + egress.RetryFor).UnixMicro()
	_, err := r.runs.Mutate(ctx, ws, id, store.Edit(func(next *orchv1.AutomationActionRun) error {
		next.Expires = &expires
		return nil
	}, nil))
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	failed := proto.CloneOf(run)
	failed.Next, failed.Expires = nil, &expires
	if err := r.runs.Insert(ctx, ws, failed); !errors.Is(err, store.ErrDuplicate) {
		return err
	}
	return nil
}
