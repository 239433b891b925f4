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
	d := s.decision(ctx, s.slots, ws, id, policy, propose)
	if err := d.write(ctx); err != nil {
		return nil, err
	}
	return d.transition, nil
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
