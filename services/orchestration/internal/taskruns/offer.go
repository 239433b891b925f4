package taskruns

import (
	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
)

// Show adds a run's computed fields, which are not stored.
func (s *Service) Show(run *orchv1.TaskRun) *orchv1.TaskRun {
	return present(run, s.runs.Store().Now())
}

// offer queues a deferred run for task workers, and dequeues it when it leaves that state. The queue is a field of the
// run, so one write changes both.
func offer(t *rules.TaskTransition) {
	t.Run.OfferAt, t.Run.Claim = nil, nil
	if waits(t.Run) {
		t.Run.OfferAt = timestamppb.New(t.Now)
	}
}

// waits reports whether a run waits for a task worker.
func waits(run *orchv1.TaskRun) bool {
	state := run.GetState()
	return state.GetType() == orchv1.StateType_STATE_TYPE_SCHEDULED && state.GetStateDetails().GetDeferred()
}

// announce wakes a task worker for a stored run.
func (s *Service) announce(ws uuid.UUID, run *orchv1.TaskRun) {
	if run.OfferAt != nil && s.offered != nil {
		s.offered(ws, run.GetTaskKey())
	}
}
