package flowruns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/parameters"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// nameResuming is the state name of a suspended run that is scheduled to resume.
const nameResuming = "Resuming"

// refusal is the reason why a resumption is refused before the rules apply.
type refusal struct {
	state  *orchv1.State
	status orchv1.SetStateStatus
	reason string
}

func (r *refusal) Error() string { return r.reason }

func (r *refusal) result() *orchv1.OrchestrationResult {
	return &orchv1.OrchestrationResult{State: r.state, Status: r.status, Details: &orchv1.TransitionDetails{
		Kind: &orchv1.TransitionDetails_Abort{Abort: &orchv1.StateAbortDetails{Reason: &r.reason}},
	}}
}

// ResumeFlowRun resumes a paused run: a run with a waiting process becomes Running, a suspended run is scheduled. The
// same write stores the run's input, if it fits the schema that the run stored.
func (s *Service) ResumeFlowRun(ctx context.Context, r *orchv1.ResumeFlowRunRequest) (*orchv1.OrchestrationResult, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, unknownRun(err, r.GetId())
	}
	t, err := s.applyTransition(ctx, ws, id, rules.CoreFlowPolicy, func(current *orchv1.FlowRun) (*orchv1.StateCreate, []store.Effect, error) {
		state := current.GetState()
		if state.GetType() != orchv1.StateType_STATE_TYPE_PAUSED {
			return nil, nil, &refusal{nil, orchv1.SetStateStatus_SET_STATE_STATUS_ABORT, "Cannot resume a flow run that is not paused."}
		}
		causes, err := s.take(ctx, ws, id, state, r.GetResumption().GetRunInput())
		if err != nil {
			return nil, nil, err
		}
		next := &orchv1.StateCreate{Type: orchv1.StateType_STATE_TYPE_RUNNING}
		if state.GetStateDetails().GetPauseReschedule() {
			next = &orchv1.StateCreate{
				Type: orchv1.StateType_STATE_TYPE_SCHEDULED, Name: new(nameResuming),
				StateDetails: rules.NewDetails(timestamppb.New(s.runs.Store().Now())),
			}
		}
		return next, causes, nil
	})
	if no, ok := errors.AsType[*refusal](err); ok {
		return no.result(), nil
	}
	if err != nil {
		return nil, unknownRun(err, r.GetId())
	}
	return answer(ctx, t)
}

// take returns the effect that stores the input that a pause requested, none if it requested none. An invalid input is
// a *refusal.
func (s *Service) take(ctx context.Context, ws, run uuid.UUID, state *orchv1.State, given []byte) ([]store.Effect, error) {
	keys := state.GetStateDetails().GetRunInputKeyset().GetValues()
	if len(keys) == 0 {
		return nil, nil
	}
	refuse := func(format string, args ...any) error {
		return &refusal{state, orchv1.SetStateStatus_SET_STATE_STATUS_REJECT, fmt.Sprintf(format, args...)}
	}
	if given == nil {
		given = []byte("{}")
	}
	value, err := s.hydrator.Hydrate(ctx, ws, given)
	if wrong, ok := errors.AsType[*parameters.HydrationError](err); ok {
		return nil, refuse("Error hydrating run input: %s", wrong)
	}
	if err != nil {
		return nil, err
	}
	schema, err := s.input(ctx, ws, run, keys["schema"])
	if errors.Is(err, store.ErrNotFound) {
		return nil, refuse("Run input schema not found.")
	}
	if err != nil {
		return nil, err
	}
	if !json.Valid([]byte(schema.GetValue())) {
		return nil, refuse("Run input schema is not valid JSON.")
	}
	compiled, err := parameters.CompileSchema([]byte(schema.GetValue()), false)
	if err == nil {
		err = compiled.Validate(value)
	}
	if wrong, ok := errors.AsType[*parameters.SchemaError](err); ok {
		return nil, refuse("Invalid schema: %s", wrong.Reason)
	}
	if wrong, ok := errors.AsType[*parameters.InvalidError](err); ok {
		return nil, refuse("Reason: %s", wrong)
	}
	if err != nil {
		return nil, err
	}
	if _, err := s.input(ctx, ws, run, keys["response"]); !errors.Is(err, store.ErrNotFound) {
		if err == nil {
			err = fmt.Errorf("store the input of a resumption: %w", store.ErrDuplicate)
		}
		return nil, err
	}
	effect, err := s.bring(ws, run.String(), keys["response"], value)
	return []store.Effect{effect}, err
}
