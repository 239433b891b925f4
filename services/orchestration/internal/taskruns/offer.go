package taskruns

import (
	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

// Show fills in what a run shows and does not store.
func (s *Service) Show(run *orchv1.TaskRun) *orchv1.TaskRun {
	return present(run, s.runs.Store().Now())
}

// offer queues a run for task workers when its state was deferred to them, and takes it out of the queue when it goes
// on: the queue is a part of the run, so that neither is stored without the other.
func offer(t *rules.TaskTransition) {
	state := t.Run.GetState()
	t.Run.OfferAt, t.Run.Claim = nil, nil
	if state.GetType() == orchv1.StateType_STATE_TYPE_SCHEDULED && state.GetStateDetails().GetDeferred() {
		t.Run.OfferAt = timestamppb.New(t.Now)
	}
}

// announce wakes a task worker when a run that is stored waits for one.
func (s *Service) announce(ws uuid.UUID, run *orchv1.TaskRun) {
	if run.OfferAt != nil && s.offered != nil {
		s.offered(ws, run.GetTaskKey())
	}
}
