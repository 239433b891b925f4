package flowruns

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// SetFlowRunState lets the rules judge a proposed state: 201 when a state was written, 200 when none was.
func (s *Service) SetFlowRunState(ctx context.Context, r *orchv1.SetFlowRunStateRequest) (*orchv1.OrchestrationResult, error) {
	ws, id, err := locate(ctx, r.GetId())
	if err != nil {
		return nil, unknownRun(err, r.GetId())
	}
	policy := rules.CoreFlowPolicy
	if r.GetTransition().GetForce() {
		policy = rules.MinimalFlowPolicy
	}
	of := s.runs.Store()
	var t *rules.Transition
	_, err = s.runs.Mutate(ctx, ws, id, func(current *orchv1.FlowRun, revision int64) (*store.Change[*orchv1.FlowRun], error) {
		t = rules.Propose(current, r.GetTransition().GetState(), of.Now(), of.NewID)
		policy.Judge(t)
		if !t.Written() {
			return nil, nil
		}
		name, err := s.flowName(ctx, ws, current.GetFlowId())
		if err != nil {
			return nil, err
		}
		effects, err := s.effects(ws, t, name, revision)
		if err != nil {
			return nil, err
		}
		return &store.Change[*orchv1.FlowRun]{Message: t.Run, Effects: effects}, nil
	})
	if err != nil {
		return nil, unknownRun(err, r.GetId())
	}
	if t.Written() {
		if err := rpc.SetStatus(ctx, http.StatusCreated); err != nil {
			return nil, err
		}
	}
	return t.Result(), nil
}

// unknownRun is the answer of set_state, which differs from that of the other operations.
func unknownRun(err error, id string) error {
	if errors.Is(err, store.ErrNotFound) {
		return rpc.ExceptionMessage(http.StatusNotFound, fmt.Sprintf("Flow run with id %s not found", id))
	}
	return err
}
