package rules

import (
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/clientversion"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Transition is a transition of a flow run.
type Transition struct {
	Judgement
	// Run is a copy of the run for transforms and hooks; its State is still the initial one.
	Run *orchv1.FlowRun

	// Client is the proposing client; zero if the server proposes.
	Client clientversion.Client
	// RetriesTasks reports that the run's failed task runs are scheduled again with it.
	RetriesTasks bool
	// ObsoleteInputs are the keys of inputs that an earlier pause may have left: a pause begins without them.
	ObsoleteInputs []string
	// Need is the slot operation of the deployment's limit, and Slot its result.
	Need SlotNeed
	Slot Slot
	// Use describes the slot changes when the transition is written.
	Use Use
}

// Propose returns the transition of a run to a proposed state. It copies the run and adds a missing id, timestamp and
// name, and for SCHEDULED the scheduled time.
func Propose(run *orchv1.FlowRun, proposal *orchv1.StateCreate, now time.Time, newID func() uuid.UUID) *Transition {
	to := proto.Clone(run).(*orchv1.FlowRun)
	if to.EmpiricalPolicy == nil {
		to.EmpiricalPolicy = &orchv1.FlowRunPolicy{}
	}
	return &Transition{Run: to, Judgement: propose(run.GetState(), proposal, runTimes{
		start: &to.StartTime, end: &to.EndTime, expectedStart: &to.ExpectedStartTime,
		nextScheduledStart: &to.NextScheduledStartTime, sortStart: &to.SortStart,
		totalRunTime: &to.TotalRunTime, runCount: &to.RunCount,
	}, now, newID)}
}

// settle also keeps the id of a rejected proposal, which the state that was written instead does not have.
func (t *Transition) settle() {
	t.Run.State, t.Run.RejectedTransitionId = t.Proposed, nil
	if t.status == orchv1.SetStateStatus_SET_STATE_STATUS_REJECT {
		t.Run.RejectedTransitionId = t.transitionID
	}
}
