package rules

import (
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Transition is the judgement of a flow run in the making.
type Transition struct {
	Judgement
	// Run is a copy of the run that transforms and hooks write into; its State is still the initial one.
	Run *orchv1.FlowRun

	// Client is the version of the client that proposes.
	Client Version
	// API is the version of the API that it speaks.
	API vocabulary.Version
	// RetriesTasks says that the failed task runs of the run are scheduled again with it.
	RetriesTasks bool
	// Need says what was tried with the deployment's limit, and Slot what came of it.
	Need SlotNeed
	Slot Slot
	// Use is what becomes of slots when the transition is written.
	Use Use
}

// Propose makes a transition of a run to a proposed state. The run is copied, the proposal is completed: an id, a
// moment, a name, and for SCHEDULED a time.
func Propose(run *orchv1.FlowRun, proposal *orchv1.StateCreate, now time.Time, newID func() uuid.UUID) *Transition {
	to := proto.Clone(run).(*orchv1.FlowRun)
	if to.EmpiricalPolicy == nil {
		to.EmpiricalPolicy = &orchv1.FlowRunPolicy{}
	}
	return &Transition{Run: to, Judgement: propose(run.GetState(), proposal, ledger{
		start: &to.StartTime, end: &to.EndTime, expectedStart: &to.ExpectedStartTime,
		nextScheduledStart: &to.NextScheduledStartTime, sortStart: &to.SortStart,
		totalRunTime: &to.TotalRunTime, runCount: &to.RunCount,
	}, now, newID)}
}

func (t *Transition) settle() { t.Run.State = t.Proposed }
