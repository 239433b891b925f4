package flowruns

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/clientversion"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/concurrency"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// gracePeriod is the default lease duration of a pending run's slot.
const gracePeriod = 300 * time.Second

// slots acquires the slots of deployments' limits.
type slots struct {
	limits      *concurrency.Limits
	deployments *store.Collection[*orchv1.Deployment]
	// read are the limits that the decisions of a burst have read, by deployment; nil reads the limit for each decision.
	read map[ownedID]limitRead
}

// limitRead is a result of limitFor.
type limitRead struct {
	deployment *orchv1.Deployment
	limit      *orchv1.ConcurrencyLimitV2
	err        error
}

// forBurst returns slots for a few decisions, which read each limit once.
func (s slots) forBurst() slots {
	s.read = map[ownedID]limitRead{}
	return s
}

// slotReservation acquires a slot for one transition, before the rules decide; rules only read the result. An unused slot is
// released. If the process dies first, its lease expires.
type slotReservation struct {
	slots
	ws     uuid.UUID
	client clientversion.Client
	taken  uuid.UUID // The lease of the acquired slot; uuid.Nil if there is none.
}

// limitFor returns the deployment of a run and its limit, which is nil if it has none; store.ErrNotFound means that the deployment does
// not exist.
func (s slots) limitFor(ctx context.Context, ws uuid.UUID, run *orchv1.FlowRun) (*orchv1.Deployment, *orchv1.ConcurrencyLimitV2, error) {
	id, err := uuid.Parse(run.GetDeploymentId())
	if err != nil {
		return nil, nil, fmt.Errorf("read the id of a deployment: %w", err)
	}
	if read, ok := s.read[ownedID{ws, id}]; ok {
		return read.deployment, read.limit, read.err
	}
	var read limitRead
	if read.deployment, read.err = s.deployments.Get(ctx, ws, id); read.err == nil {
		read.limit, read.err = s.limits.LimitFor(ctx, ws, read.deployment)
	}
	if s.read != nil {
		s.read[ownedID{ws, id}] = read
	}
	return read.deployment, read.limit, read.err
}

// withdraw ends the reservation of a run that no longer waits for a slot. After a failure the reservation ends by its time.
func (s slots) withdraw(ctx context.Context, ws uuid.UUID, run *orchv1.FlowRun) {
	if _, limit, err := s.limitFor(ctx, ws, run); err == nil && limit != nil {
		_ = s.limits.Withdraw(ctx, ws, []*orchv1.ConcurrencyLimitV2{limit}, holderOf(run))
	}
}

func holderOf(run *orchv1.FlowRun) *orchv1.ConcurrencyLeaseHolder {
	return &orchv1.ConcurrencyLeaseHolder{Type: orchv1.ConcurrencyHolderType_CONCURRENCY_HOLDER_TYPE_FLOW_RUN, Id: run.GetId()}
}

func (s slots) reserve(ctx context.Context, ws uuid.UUID) *slotReservation {
	return &slotReservation{slots: s, ws: ws, client: request.Client(ctx)}
}

// acquire performs the slot operation that the policy needs, and returns the operation and its result. It may run again after a
// lost race; an acquired slot stays acquired meanwhile.
func (a *slotReservation) acquire(
	ctx context.Context, policy rules.Policy, run *orchv1.FlowRun, proposal *orchv1.StateCreate,
) (need rules.SlotNeed, slot rules.Slot, err error) {
	need = policy.NeedsSlot(run, proposal, a.client)
	if need == rules.NoSlot {
		return need, slot, nil
	}
	deployment, limit, err := a.limitFor(ctx, a.ws, run)
	if errors.Is(err, store.ErrNotFound) {
		slot.Missing = true
		return need, slot, nil
	}
	if err != nil || limit == nil {
		return need, slot, err
	}
	slot.Limit = new(limit.GetLimit())
	options := deployment.GetConcurrencyOptions()
	slot.CancelNew = options.GetCollisionStrategy() == orchv1.ConcurrencyLimitStrategy_CONCURRENCY_LIMIT_STRATEGY_CANCEL_NEW
	grace := gracePeriod
	if options.GetGracePeriodSeconds() > 0 {
		grace = time.Duration(options.GetGracePeriodSeconds()) * time.Second
	}
	switch need {
	case rules.LookForSlot:
		slot.Free = a.limits.Free(limit) > 0
		return need, slot, nil
	case rules.RenewSlot:
		lease, err := uuid.Parse(run.GetState().GetStateDetails().GetDeploymentConcurrencyLeaseId())
		if err != nil {
			return need, slot, fmt.Errorf("read the id of a lease: %w", err)
		}
		err = a.limits.Renew(ctx, a.ws, lease, grace)
		if slot.Renewed = err == nil; slot.Renewed {
			return need, slot, nil
		}
		if !errors.Is(err, concurrency.ErrLeaseGone) {
			return need, slot, err
		}
	}
	// Only an enqueued run returns.
	final := need == rules.RenewSlot || slot.CancelNew
	slot.Lease, err = a.acquireLimit(ctx, limit, run, grace, final)
	return need, slot, err
}

// acquireLimit acquires a slot and returns its lease; an empty lease means that no slot is free.
func (a *slotReservation) acquireLimit(
	ctx context.Context, limit *orchv1.ConcurrencyLimitV2, run *orchv1.FlowRun, grace time.Duration, final bool,
) (string, error) {
	if a.taken != uuid.Nil {
		return a.taken.String(), nil
	}
	if limit.GetLimit() < 1 {
		return "", nil
	}
	lease := &concurrency.Lease{ID: a.deployments.Store().NewID(), Duration: grace, Holder: holderOf(run)}
	err := a.limits.AcquireOf(ctx, a.ws, limit, concurrency.Acquisition{Slots: 1, Lease: lease, Final: final, RetryAfter: rules.SlotWait})
	var full *concurrency.FullError
	if errors.As(err, &full) || errors.Is(err, concurrency.ErrTooMany) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	a.taken = lease.ID
	return lease.ID.String(), nil
}

// effects returns the slot changes of a written transition. They are idempotent.
func (a *slotReservation) effects(t *rules.Transition) []store.Effect {
	var effects []store.Effect
	if lease, err := uuid.Parse(t.Use.ReleasedLease); err == nil && t.Use.Released {
		effects = append(effects, a.limits.ReleaseEffect(a.ws, lease))
	}
	if lease, err := uuid.Parse(t.Use.Kept); err == nil {
		effects = append(effects, a.limits.KeepEffect(a.ws, lease))
	}
	return effects
}

// release releases unused slots, and those that the run no longer needs, so the next run finds them at once. It ends the leases of
// clients that do not renew them, so a renewal after the response fails. After a failure the relay or the lease's end completes it.
func (a *slotReservation) release(ctx context.Context, t *rules.Transition, err error) {
	ctx = context.WithoutCancel(ctx)
	if a.taken != uuid.Nil && !a.used(t, err) {
		_ = a.limits.Release(ctx, a.ws, a.taken)
	}
	if err != nil || t == nil || !t.Written() {
		return
	}
	if lease, err := uuid.Parse(t.Use.ReleasedLease); err == nil && t.Use.Released {
		_ = a.limits.Release(ctx, a.ws, lease)
	}
	if lease, err := uuid.Parse(t.Use.Kept); err == nil {
		_ = a.limits.Keep(ctx, a.ws, lease)
	}
	if t.Use.Withdrawn {
		a.withdraw(ctx, a.ws, t.Run)
	}
}

// used reports whether the run may hold the slot. After an error in doubt the transition may have been written.
func (a *slotReservation) used(t *rules.Transition, err error) bool {
	if err != nil {
		return store.InDoubt(err)
	}
	return t != nil && t.Written() && t.Use.Taken == a.taken.String()
}

// freedBy returns the slot effects of deleting a run.
func (s slots) freedBy(ws uuid.UUID, run *orchv1.FlowRun) []store.Effect {
	lease, err := uuid.Parse(run.GetState().GetStateDetails().GetDeploymentConcurrencyLeaseId())
	if err != nil {
		return nil
	}
	return []store.Effect{s.limits.ReleaseEffect(ws, lease)}
}
