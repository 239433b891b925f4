package flowruns

import (
	"context"
	"errors"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// nameAwaitingRetry is the state name of a run that waits for its next attempt.
const nameAwaitingRetry = "AwaitingRetry"

// Loss is the server's decision that no process executes a run, or that a run does not start.
type Loss struct {
	// State is the id of the state in which the run is lost. A run in another state stays as it is.
	State string
	// Message returns the message of the new state.
	Message func(run *orchv1.FlowRun) string
	// Reschedule schedules the run again if it may start once more. Otherwise it becomes CRASHED.
	Reschedule bool
}

// Lose ends or reschedules a lost run, and reports whether it did. Its slot is free then. The effects of the state end its task runs
// and subflows, and have its infrastructure removed where a worker does that.
func (s *Service) Lose(ctx context.Context, ws, run uuid.UUID, loss Loss) (bool, error) {
	t, err := s.applyTransition(ctx, ws, run, rules.LostRunPolicy, func(current *orchv1.FlowRun) (*orchv1.StateCreate, []store.Effect, error) {
		if current.GetState().GetId() != loss.State {
			return nil, nil, nil
		}
		state := &orchv1.StateCreate{Type: orchv1.StateType_STATE_TYPE_CRASHED, Message: new(loss.Message(current))}
		if loss.Reschedule && rules.Reschedulable(current) {
			state.Type, state.Name = orchv1.StateType_STATE_TYPE_SCHEDULED, new(nameAwaitingRetry)
			if current.GetState().GetType() == orchv1.StateType_STATE_TYPE_PENDING {
				state.Name = new(nameScheduled)
			}
		}
		effects, err := s.lossEffects(ctx, ws, current)
		return state, effects, err
	})
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && t != nil && t.Written(), err
}

func (s *Service) lossEffects(ctx context.Context, ws uuid.UUID, run *orchv1.FlowRun) ([]store.Effect, error) {
	children, err := lostChildren(ws, run)
	if err != nil {
		return nil, err
	}
	effects := []store.Effect{children}
	if run.InfrastructurePid == nil {
		return effects, nil
	}
	job, ok, err := s.cleanUp(ctx, ws, run, run.GetState().GetId(), s.runs.Store().Now())
	if ok {
		effects = append(effects, job)
	}
	return effects, err
}
