package flowruns

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/concurrency"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// gracePeriod is how long a slot is kept for a pending run whose deployment does not say.
const gracePeriod = 300 * time.Second

// slots are those of the limits that deployments are under.
type slots struct {
	limits      *concurrency.Limits
	deployments *store.Collection[*orchv1.Deployment]
}

// attempt tries for one transition to get a slot, before the judgement: rules only look at what came of it. A slot that
// the written transition does not use is given back; where the process dies before, the lease on it runs out.
type attempt struct {
	slots
	ws     uuid.UUID
	client rules.Version
	api    vocabulary.Version
	taken  uuid.UUID // The lease of the slot that was taken; the nil UUID when none was.
}

func (s slots) attempt(ctx context.Context, ws uuid.UUID) *attempt {
	a := &attempt{slots: s, ws: ws, client: resourceid.Client(ctx)}
	// What the server proposes by itself comes without a client.
	if info, err := request.Incoming(ctx); err == nil {
		a.api, _ = vocabulary.ParseVersion(info.APIVersion) // The gateway has refused what is none.
	}
	return a
}

// make tries what the policy needs, and tells the transition what came of it. It may be called again when another writer
// won: a slot that is taken stays taken meanwhile.
func (a *attempt) make(ctx context.Context, policy rules.Policy, t *rules.Transition, run *orchv1.FlowRun, proposal *orchv1.StateCreate) error {
	t.Client, t.API = a.client, a.api
	t.Need = policy.NeedsSlot(run, proposal, a.client)
	if t.Need == rules.NoSlot {
		return nil
	}
	id, err := uuid.Parse(run.GetDeploymentId())
	if err != nil {
		return fmt.Errorf("read the id of a deployment: %w", err)
	}
	deployment, err := a.deployments.Get(ctx, a.ws, id)
	if errors.Is(err, store.ErrNotFound) {
		t.Slot.Missing = true
		return nil
	}
	if err != nil {
		return err
	}
	limit, err := a.limits.LimitFor(ctx, a.ws, deployment)
	if err != nil || limit == nil {
		return err
	}
	t.Slot.Limit = new(limit.GetLimit())
	options := deployment.GetConcurrencyOptions()
	t.Slot.CancelNew = options.GetCollisionStrategy() == orchv1.ConcurrencyLimitStrategy_CONCURRENCY_LIMIT_STRATEGY_CANCEL_NEW
	grace := gracePeriod
	if options.GetGracePeriodSeconds() > 0 {
		grace = time.Duration(options.GetGracePeriodSeconds()) * time.Second
	}
	switch t.Need {
	case rules.LookForSlot:
		t.Slot.Free = a.limits.Free(limit) > 0
		return nil
	case rules.RenewSlot:
		lease, err := uuid.Parse(run.GetState().GetStateDetails().GetDeploymentConcurrencyLeaseId())
		if err != nil {
			return fmt.Errorf("read the id of a lease: %w", err)
		}
		err = a.limits.Renew(ctx, a.ws, lease, grace)
		if t.Slot.Renewed = err == nil; t.Slot.Renewed {
			return nil
		}
		if !errors.Is(err, concurrency.ErrLeaseGone) {
			return err
		}
	}
	return a.take(ctx, t, limit, run, grace)
}

func (a *attempt) take(ctx context.Context, t *rules.Transition, limit *orchv1.ConcurrencyLimitV2, run *orchv1.FlowRun, grace time.Duration) error {
	if a.taken != uuid.Nil {
		t.Slot.Lease = a.taken.String()
		return nil
	}
	if limit.GetLimit() < 1 {
		return nil
	}
	lease := &concurrency.Lease{ID: t.NewID(), Duration: grace, Holder: &orchv1.ConcurrencyLeaseHolder{
		Type: orchv1.ConcurrencyHolderType_CONCURRENCY_HOLDER_TYPE_FLOW_RUN, Id: run.GetId(),
	}}
	err := a.limits.AcquireOf(ctx, a.ws, limit, lease)
	var full *concurrency.FullError
	if errors.As(err, &full) || errors.Is(err, concurrency.ErrTooMany) {
		return nil
	}
	if err != nil {
		return err
	}
	a.taken = lease.ID
	t.Slot.Lease = lease.ID.String()
	return nil
}

// effects are what the written transition means for slots. They come to the same when they are done twice.
func (a *attempt) effects(t *rules.Transition) []store.Effect {
	var effects []store.Effect
	if lease, err := uuid.Parse(t.Use.ReleasedLease); err == nil && t.Use.Released {
		effects = append(effects, a.limits.ReleaseEffect(a.ws, lease))
	}
	if lease, err := uuid.Parse(t.Use.Kept); err == nil {
		effects = append(effects, a.limits.KeepEffect(a.ws, lease))
	}
	return effects
}

// settle gives back what was taken in vain, and at once what the run no longer needs, so that the next run finds it.
// What cannot be done now the relay does, or the end of the lease.
func (a *attempt) settle(ctx context.Context, t *rules.Transition, err error) {
	ctx = context.WithoutCancel(ctx)
	if a.taken != uuid.Nil && !a.used(t, err) {
		_ = a.limits.Release(ctx, a.ws, a.taken)
	}
	if err != nil || t == nil || !t.Written() || !t.Use.Released {
		return
	}
	if lease, err := uuid.Parse(t.Use.ReleasedLease); err == nil {
		_ = a.limits.Release(ctx, a.ws, lease)
	}
}

// used reports whether the run may have the slot. Where the database did not answer, the transition may be written.
func (a *attempt) used(t *rules.Transition, err error) bool {
	if err != nil {
		return store.InDoubt(err)
	}
	return t != nil && t.Written() && t.Use.Taken == a.taken.String()
}

// freedBy are the effects on slots of deleting a run.
func (s slots) freedBy(ws uuid.UUID, run *orchv1.FlowRun) []store.Effect {
	lease, err := uuid.Parse(run.GetState().GetStateDetails().GetDeploymentConcurrencyLeaseId())
	if err != nil {
		return nil
	}
	return []store.Effect{s.limits.ReleaseEffect(ws, lease)}
}
