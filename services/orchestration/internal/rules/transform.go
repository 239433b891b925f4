package rules

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/runorder"
)

// commonTransforms apply a written state to a run of either kind, in order; those of its kind follow.
var commonTransforms = []func(*Judgement){
	uniqueTimestamp,
	setStart,
	setEnd,
	addRunTime,
	setExpectedStart,
	setNextScheduledStart,
	setSortStart,
}

// flowTransforms are the additional transforms of flow runs.
var flowTransforms = []func(*Transition){
	nameRuns,
	countRun,
	clearResuming,
	rankRun,
}

// taskTransforms are the additional transforms of task runs.
var taskTransforms = []func(*TaskTransition){
	nameTaskRun,
	countTaskRun,
}

// uniqueTimestamp keeps the history ordered: no two states of a run have the same timestamp.
func uniqueTimestamp(t *Judgement) {
	if t.Initial == nil {
		return
	}
	last := t.Initial.GetTimestamp().AsTime()
	if !t.Proposed.GetTimestamp().AsTime().After(last) {
		t.Proposed.Timestamp = timestamppb.New(last.Add(time.Microsecond))
	}
}

// setStart records the first start of the run.
func setStart(t *Judgement) {
	if t.to() == running && *t.times.start == nil {
		*t.times.start = t.Proposed.GetTimestamp()
	}
}

// setEnd records the end of the run. A run that never ran starts when it ends; one that runs again has no end.
func setEnd(t *Judgement) {
	switch {
	case Terminal(t.to()):
		if *t.times.end == nil {
			*t.times.end = t.Proposed.GetTimestamp()
		}
		if *t.times.start == nil {
			*t.times.start = t.Proposed.GetTimestamp()
		}
	case Terminal(t.from()):
		*t.times.end = nil
	}
}

// addRunTime adds the seconds of the completed running period.
func addRunTime(t *Judgement) {
	if t.from() == running {
		*t.times.totalRunTime += t.Proposed.GetTimestamp().AsTime().Sub(t.Initial.GetTimestamp().AsTime()).Seconds()
	}
}

func setExpectedStart(t *Judgement) {
	if *t.times.expectedStart != nil {
		return
	}
	*t.times.expectedStart = t.Proposed.GetTimestamp()
	if at := t.Proposed.GetStateDetails().GetScheduledTime(); at != nil {
		*t.times.expectedStart = at
	}
}

func setNextScheduledStart(t *Judgement) {
	switch {
	case t.to() == scheduled:
		*t.times.nextScheduledStart = t.Proposed.GetStateDetails().GetScheduledTime()
	case t.from() == scheduled:
		*t.times.nextScheduledStart = nil
	}
}

func setSortStart(t *Judgement) {
	*t.times.sortStart = *t.times.start
	if *t.times.sortStart == nil {
		*t.times.sortStart = *t.times.expectedStart
	}
}

// rankRun ranks a run anew, unless the server refuses it a slot: then it keeps its rank and its deadline.
func rankRun(t *Transition) {
	refused := t.status == orchv1.SetStateStatus_SET_STATE_STATUS_REJECT && t.Proposed.GetName() == AwaitingConcurrencySlot
	if !refused || t.Run.Rank == nil {
		RankRun(t.Run)
	}
}

// RankRun orders a run among due runs by its start, and sets the deadline of that start.
func RankRun(run *orchv1.FlowRun) {
	run.Rank, run.StartDeadline = nil, nil
	if run.NextScheduledStartTime != nil {
		RankRunAt(run, run.GetNextScheduledStartTime().AsTime())
	}
}

// RankRunAt is RankRun for a start that may differ from the scheduled one. Only the first start of a run has a deadline.
func RankRunAt(run *orchv1.FlowRun, start time.Time) {
	run.Rank, run.StartDeadline = timestamppb.New(runorder.Rank(start, run.GetPriority())), nil
	if run.LatenessLimit != nil && run.GetRunCount() == 0 {
		run.StartDeadline = timestamppb.New(start.Add(time.Duration(run.GetLatenessLimit()) * time.Second))
	}
}

// nameRuns writes the run's id into the state.
func nameRuns(t *Transition) {
	details := t.Proposed.StateDetails
	details.FlowRunId = new(t.Run.GetId())
	if t.Run.ParentTaskRunId != nil {
		details.TaskRunId = t.Run.ParentTaskRunId
	}
}

// countRun counts attempts; a resumption after a suspension does not count.
func countRun(t *Transition) {
	if t.to() == running && !(t.Client.TracksPauses() && t.Run.GetEmpiricalPolicy().GetResuming()) {
		t.Run.RunCount++
	}
}

func clearResuming(t *Transition) {
	if t.Client.TracksPauses() && (t.to() == running || Terminal(t.to())) {
		t.Run.GetEmpiricalPolicy().Resuming = new(false)
	}
}

// nameTaskRun writes the task run's id into the state.
func nameTaskRun(t *TaskTransition) {
	details := t.Proposed.StateDetails
	details.FlowRunId = t.Run.FlowRunId
	details.TaskRunId = new(t.Run.GetId())
}

func countTaskRun(t *TaskTransition) {
	if t.to() == running {
		t.Run.RunCount++
	}
}
