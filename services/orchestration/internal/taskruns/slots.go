package taskruns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/concurrency"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// provisional is the lease duration of slots for a transition that is not written yet. If the process dies first, the
// slots return after it; a written transition takes them over.
const provisional = 5 * time.Minute

// slotReservation acquires the slots of the run's tags for one transition, before the rules decide. Rules only read the result.
type slotReservation struct {
	limits *concurrency.Limits
	ws     uuid.UUID
	taken  uuid.UUID // The lease of the acquired slots; uuid.Nil if there are none.
}

// acquire acquires the slots that the policy needs and adds the result to the facts. It may run again after a lost race;
// acquired slots stay acquired meanwhile.
func (a *slotReservation) acquire(
	ctx context.Context, policy rules.TaskPolicy, run *orchv1.TaskRun, proposal *orchv1.StateCreate, facts *rules.TaskFacts, db *store.Store,
) error {
	if !policy.AsksSlots(run, proposal, *facts, db.Now(), db.NewID) {
		return nil
	}
	facts.Slots = &rules.TaskSlots{}
	if a.taken == uuid.Nil {
		id, err := uuid.Parse(run.GetId())
		if err != nil {
			return fmt.Errorf("read the id of a task run: %w", err)
		}
		_, a.taken, err = a.limits.AcquireForTaskRun(ctx, a.ws, run.GetTags(), id, provisional, time.Second) // A WAIT has whole seconds.
		var never *concurrency.NeverError
		var full *concurrency.FullError
		switch {
		case errors.As(err, &never):
			facts.Slots.Never = never.Tag
		case errors.As(err, &full):
			facts.Slots.Full, facts.Slots.Wait = run.GetTags(), full.Wait
		case err != nil:
			return err
		}
	}
	if a.taken != uuid.Nil {
		facts.Slots.Lease = a.taken.String()
	}
	return nil
}

// slotEffects returns the slot changes of a written transition as effects. They are idempotent.
func (s *Service) slotEffects(ws uuid.UUID, use rules.TaskUse) []store.Effect {
	var effects []store.Effect
	if lease, err := uuid.Parse(use.Taken); err == nil {
		effects = append(effects, s.limits.KeepEffect(ws, lease))
	}
	return append(effects, s.released(ws, use.Released)...)
}

// released returns the effects that release the slots of leases.
func (s *Service) released(ws uuid.UUID, leases []string) []store.Effect {
	var effects []store.Effect
	for _, text := range leases {
		if lease, err := uuid.Parse(text); err == nil {
			effects = append(effects, s.limits.ReleaseEffect(ws, lease))
		}
	}
	return effects
}

// release releases unused slots, and those that the run no longer needs, so the next run finds them at once. It also
// assigns the acquired slots to the run, and ends the reservations of a run that waited. After a failure the relay, or the end of the lease
// or the reservation, completes it.
func (a *slotReservation) release(ctx context.Context, t *rules.TaskTransition, err error) {
	ctx = context.WithoutCancel(ctx)
	written := err == nil && t != nil && t.Written()
	switch {
	case a.taken == uuid.Nil:
	case written && t.Use.Taken == a.taken.String():
		_ = a.limits.Keep(ctx, a.ws, a.taken)
	case !store.InDoubt(err):
		_ = a.limits.Release(ctx, a.ws, a.taken)
	}
	if !written {
		return
	}
	for _, text := range t.Use.Released {
		if lease, err := uuid.Parse(text); err == nil {
			_ = a.limits.Release(ctx, a.ws, lease)
		}
	}
	if id, err := uuid.Parse(t.Run.GetId()); err == nil && t.Use.Withdrawn {
		_ = a.limits.WithdrawTaskRun(ctx, a.ws, t.Run.GetTags(), id)
	}
}

// heldLeases returns the leases of the tag slots that a run holds.
func (s *Service) heldLeases(ctx context.Context, ws uuid.UUID, run *orchv1.TaskRun) ([]string, error) {
	if len(run.GetTags()) == 0 {
		return nil, nil
	}
	id, err := uuid.Parse(run.GetId())
	if err != nil {
		return nil, fmt.Errorf("read the id of a task run: %w", err)
	}
	leases, err := s.limits.HeldByTaskRun(ctx, ws, run.GetTags(), id)
	if own := run.GetSlotLeaseId(); own != "" && !slices.Contains(leases, own) {
		leases = append(leases, own)
	}
	return leases, err
}
