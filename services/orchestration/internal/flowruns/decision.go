package flowruns

import (
	"context"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// decision applies a policy to a proposal for a run. The caller writes the change that decide returns, alone or together with
// changes of other runs, and then calls finish:
//
//	decide (on a version of the run) ──► compare-and-set ──┬─ written, or failed ──► finish
//	  ▲                                                     │
//	  └──────────── another writer changed the run ─────────┘
type decision struct {
	service *Service
	ws, id  uuid.UUID
	policy  rules.Policy
	propose proposal
	slot    *slotReservation
	// transition and resources belong to the last version of the run; transition is nil if nothing was proposed.
	transition *rules.Transition
	resources  related
}

func (s *Service) decision(ctx context.Context, slots slots, ws, id uuid.UUID, policy rules.Policy, propose proposal) *decision {
	return &decision{service: s, ws: ws, id: id, policy: policy, propose: propose, slot: slots.reserve(ctx, ws)}
}

// decide returns the change of a version of the run; nil if the rules write no state. revision is the revision after the write.
func (d *decision) decide(ctx context.Context, current *orchv1.FlowRun, revision int64) (*store.Change[*orchv1.FlowRun], error) {
	d.transition = nil
	s, db := d.service, d.service.runs.Store()
	state, causes, err := d.propose(current)
	if err != nil || state == nil {
		return nil, err
	}
	need, acquired, err := d.slot.acquire(ctx, d.policy, current, state)
	if err != nil {
		return nil, err
	}
	// Acquire before creating the state, and release after writing it: the times of events then never show more holders
	// than slots.
	t := rules.Propose(current, state, db.Now(), db.NewID)
	d.transition = t
	t.Client, t.Need, t.Slot = d.slot.client, need, acquired
	d.policy.Judge(t)
	if !t.Written() {
		return nil, nil
	}
	if d.resources, err = s.relatedOf(ctx, d.ws, current); err != nil {
		return nil, err
	}
	effects, err := s.effects(d.ws, t, d.resources, revision)
	if err != nil {
		return nil, err
	}
	obsolete, err := s.deleteInputs(ctx, d.ws, d.id, t.ObsoleteInputs)
	if err != nil {
		return nil, err
	}
	effects = append(effects, obsolete...)
	if t.Result().GetStatus() == orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT {
		effects = append(effects, causes...)
	}
	effects = append(effects, d.slot.effects(t)...)
	return &store.Change[*orchv1.FlowRun]{Message: t.Run, Effects: effects}, nil
}

// write decides on the stored run, writes that and finishes.
func (d *decision) write(ctx context.Context) error {
	_, err := d.service.runs.Mutate(ctx, d.ws, d.id, func(current *orchv1.FlowRun, revision int64) (*store.Change[*orchv1.FlowRun], error) {
		return d.decide(ctx, current, revision)
	})
	d.finish(ctx, err)
	return err
}

// finish releases the slots that the run does not use, and announces a written state. err is the error of the write.
func (d *decision) finish(ctx context.Context, err error) {
	t := d.transition
	d.slot.release(ctx, t, err)
	if err != nil || !d.written() {
		return
	}
	d.service.metrics.observe(t, d.resources)
	d.service.notifyWaiting(d.ws, t.Run)
	if t.Initial.GetType() == orchv1.StateType_STATE_TYPE_SCHEDULED && t.Run.GetState().GetType() == orchv1.StateType_STATE_TYPE_PENDING {
		d.service.onStart(t.Run)
	}
}

// written reports whether the last decision writes a state.
func (d *decision) written() bool { return d.transition != nil && d.transition.Written() }
