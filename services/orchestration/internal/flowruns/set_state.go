package flowruns

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// SetFlowRunState applies the rules to a proposed state: 201 if it wrote a state, 200 if not.
func (s *Service) SetFlowRunState(ctx context.Context, r *orchv1.SetFlowRunStateRequest) (*orchv1.OrchestrationResult, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, unknownRun(err, r.GetId())
	}
	t, err := s.applyTransition(ctx, ws, id, policyOf(r.GetTransition().GetForce()), fixedProposal(r.GetTransition().GetState()))
	if err != nil {
		return nil, unknownRun(err, r.GetId())
	}
	return answer(ctx, t)
}

func policyOf(force bool) rules.Policy {
	if force {
		return rules.MinimalFlowPolicy
	}
	return rules.CoreFlowPolicy
}

// proposal returns the proposed state for the run's current version, and additional effects of writing it; nil proposes
// nothing. It may be called several times.
type proposal func(current *orchv1.FlowRun) (*orchv1.StateCreate, []store.Effect, error)

// fixedProposal proposes one state for every version of the run.
func fixedProposal(state *orchv1.StateCreate) proposal {
	return func(*orchv1.FlowRun) (*orchv1.StateCreate, []store.Effect, error) { return state, nil, nil }
}

// applyTransition applies a policy to a proposal and writes the accepted state. The transition is nil if nothing was proposed.
func (s *Service) applyTransition(ctx context.Context, ws, id uuid.UUID, policy rules.Policy, propose proposal) (*rules.Transition, error) {
	db := s.runs.Store()
	var t *rules.Transition
	var resources related
	slot := s.slots.reserve(ctx, ws)
	_, err := s.runs.Mutate(ctx, ws, id, func(current *orchv1.FlowRun, revision int64) (*store.Change[*orchv1.FlowRun], error) {
		t = nil
		state, causes, err := propose(current)
		if err != nil || state == nil {
			return nil, err
		}
		need, acquired, err := slot.acquire(ctx, policy, current, state)
		if err != nil {
			return nil, err
		}
		// Acquire before creating the state, and release after writing it: the times of events then never show more holders
		// than slots.
		t = rules.Propose(current, state, db.Now(), db.NewID)
		t.Client, t.Need, t.Slot = slot.client, need, acquired
		policy.Judge(t)
		if !t.Written() {
			return nil, nil
		}
		if resources, err = s.relatedOf(ctx, ws, current); err != nil {
			return nil, err
		}
		effects, err := s.effects(ws, t, resources, revision)
		if err != nil {
			return nil, err
		}
		obsolete, err := s.deleteInputs(ctx, ws, id, t.ObsoleteInputs)
		if err != nil {
			return nil, err
		}
		effects = append(effects, obsolete...)
		if t.Result().GetStatus() == orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT {
			effects = append(effects, causes...)
		}
		effects = append(effects, slot.effects(t)...)
		return &store.Change[*orchv1.FlowRun]{Message: t.Run, Effects: effects}, nil
	})
	slot.release(ctx, t, err)
	if err != nil {
		return nil, err
	}
	if t != nil && t.Written() {
		s.metrics.observe(t, resources)
		s.notifyWaiting(ws, t.Run)
		if t.Initial.GetType() == orchv1.StateType_STATE_TYPE_SCHEDULED && t.Run.GetState().GetType() == orchv1.StateType_STATE_TYPE_PENDING {
			s.onStart(t.Run)
		}
	}
	return t, nil
}

// answer returns the decision as clients read it, with 201 if a state was written.
func answer(ctx context.Context, t *rules.Transition) (*orchv1.OrchestrationResult, error) {
	if t.Written() {
		if err := rpc.SetStatus(ctx, http.StatusCreated); err != nil {
			return nil, err
		}
	}
	return t.Result(), nil
}

// unknownRun is the 404 of set_state, which differs from that of other operations.
func unknownRun(err error, id string) error {
	if errors.Is(err, store.ErrNotFound) {
		return unknown(id)
	}
	return err
}
