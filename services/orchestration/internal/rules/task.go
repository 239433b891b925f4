package rules

import (
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// TaskTransition is a transition of a task run.
type TaskTransition struct {
	Judgement
	// Run is a copy of the run that transforms and hooks write into; its State is still the initial one.
	Run *orchv1.TaskRun
	// Facts are data of other documents, read in advance.
	Facts TaskFacts
	// Caches reports that the written state is to be cached under its cache key.
	Caches bool
	// Use describes the slot changes when the transition is written.
	Use TaskUse

	asksSlots      bool
	missingFlowRun bool
	runCountBefore int64
}

// TaskFacts are the data of other documents that task rules need.
type TaskFacts struct {
	// FlowRun is the flow run of the task run; nil if there is none or it was deleted.
	FlowRun *orchv1.FlowRun
	// Cached is the newest valid state under the proposal's cache key; nil if there is none.
	Cached *orchv1.State
	// Slots is the result of acquiring slots of the run's tags; nil if none were requested.
	Slots *TaskSlots
	// Held are the leases of the tag slots that the run holds.
	Held []string
	// Random returns uniform numbers in [0, 1).
	Random func() float64
}

// ProposeTask is Propose for task runs.
func ProposeTask(run *orchv1.TaskRun, proposal *orchv1.StateCreate, facts TaskFacts, now time.Time, newID func() uuid.UUID) *TaskTransition {
	to := proto.Clone(run).(*orchv1.TaskRun)
	if to.EmpiricalPolicy == nil {
		to.EmpiricalPolicy = &orchv1.TaskRunPolicy{}
	}
	return &TaskTransition{Run: to, Facts: facts, Judgement: propose(run.GetState(), proposal, runTimes{
		start: &to.StartTime, end: &to.EndTime, expectedStart: &to.ExpectedStartTime,
		nextScheduledStart: &to.NextScheduledStartTime, sortStart: &to.SortStart,
		totalRunTime: &to.TotalRunTime, runCount: &to.RunCount,
	}, now, newID)}
}

func (t *TaskTransition) settle() { t.Run.State = t.Proposed }

// AsksCache reports whether the cache may decide a proposal, so that the caller must read Facts.Cached.
func AsksCache(proposal *orchv1.StateCreate) bool {
	details := proposal.GetStateDetails()
	return proposal.GetType() == running && details.GetCacheKey() != "" && !details.GetRefreshCache()
}
