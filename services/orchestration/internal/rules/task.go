package rules

import (
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// TaskTransition is the judgement of a task run in the making.
type TaskTransition struct {
	Judgement
	// Run is a copy of the run that transforms and hooks write into; its State is still the initial one.
	Run *orchv1.TaskRun
	// Facts are what was read of other documents before the judgement.
	Facts TaskFacts
	// Caches is set by the judgement: the written state is to be kept under its cache key.
	Caches bool
	// Use is what becomes of slots when the transition is written.
	Use TaskUse

	asksSlots      bool
	missingFlowRun bool
	runCountBefore int64
}

// TaskFacts are what task rules need to know of other documents.
type TaskFacts struct {
	// FlowRun is the flow run that the task run belongs to; nil when there is none, or when it is gone.
	FlowRun *orchv1.FlowRun
	// Cached is the newest state under the proposal's cache key that still holds; nil when there is none.
	Cached *orchv1.State
	// Slots is what came of asking for slots of the run's tags; nil when nobody asked.
	Slots *TaskSlots
	// Held are the leases under which the run holds slots of its tags until it gives them back.
	Held []string
	// Random gives numbers in [0, 1), evenly spread.
	Random func() float64
}

// ProposeTask is Propose for task runs.
func ProposeTask(run *orchv1.TaskRun, proposal *orchv1.StateCreate, facts TaskFacts, now time.Time, newID func() uuid.UUID) *TaskTransition {
	to := proto.Clone(run).(*orchv1.TaskRun)
	if to.EmpiricalPolicy == nil {
		to.EmpiricalPolicy = &orchv1.TaskRunPolicy{}
	}
	return &TaskTransition{Run: to, Facts: facts, Judgement: propose(run.GetState(), proposal, ledger{
		start: &to.StartTime, end: &to.EndTime, expectedStart: &to.ExpectedStartTime,
		nextScheduledStart: &to.NextScheduledStartTime, sortStart: &to.SortStart,
		totalRunTime: &to.TotalRunTime, runCount: &to.RunCount,
	}, now, newID)}
}

func (t *TaskTransition) settle() { t.Run.State = t.Proposed }

// AsksCache tells whether a proposal may be answered from the cache, so that Facts.Cached is to be read.
func AsksCache(proposal *orchv1.StateCreate) bool {
	details := proposal.GetStateDetails()
	return proposal.GetType() == running && details.GetCacheKey() != "" && !details.GetRefreshCache()
}
