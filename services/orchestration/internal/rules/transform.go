package rules

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// flowTransforms say what a written state does to the flow run, in order.
var flowTransforms = []func(*Transition){
	uniqueTimestamp,
	setStart,
	setEnd,
	addRunTime,
	setExpectedStart,
	setNextScheduledStart,
	nameRuns,
	countRun,
	clearResuming,
	setSortStart,
}

// uniqueTimestamp keeps the history in order: no two states of a run have the same moment.
func uniqueTimestamp(t *Transition) {
	if t.Initial == nil {
		return
	}
	last := t.Initial.GetTimestamp().AsTime()
	if !t.Proposed.GetTimestamp().AsTime().After(last) {
		t.Proposed.Timestamp = timestamppb.New(last.Add(time.Microsecond))
	}
}

// setStart keeps the moment at which the run first ran.
func setStart(t *Transition) {
	if t.to() == running && t.Run.StartTime == nil {
		t.Run.StartTime = t.Proposed.GetTimestamp()
	}
}

// setEnd keeps the moment at which the run ended. A run that never ran starts when it ends; one that runs again has no end.
func setEnd(t *Transition) {
	switch {
	case Terminal(t.to()):
		if t.Run.EndTime == nil {
			t.Run.EndTime = t.Proposed.GetTimestamp()
		}
		if t.Run.StartTime == nil {
			t.Run.StartTime = t.Proposed.GetTimestamp()
		}
	case Terminal(t.from()):
		t.Run.EndTime = nil
	}
}

// addRunTime counts the seconds of the stretch of running that is over.
func addRunTime(t *Transition) {
	if t.from() == running {
		t.Run.TotalRunTime += t.Proposed.GetTimestamp().AsTime().Sub(t.Initial.GetTimestamp().AsTime()).Seconds()
	}
}

func setExpectedStart(t *Transition) {
	if t.Run.ExpectedStartTime != nil {
		return
	}
	t.Run.ExpectedStartTime = t.Proposed.GetTimestamp()
	if at := t.Proposed.GetStateDetails().GetScheduledTime(); at != nil {
		t.Run.ExpectedStartTime = at
	}
}

func setNextScheduledStart(t *Transition) {
	switch {
	case t.to() == scheduled:
		t.Run.NextScheduledStartTime = t.Proposed.GetStateDetails().GetScheduledTime()
	case t.from() == scheduled:
		t.Run.NextScheduledStartTime = nil
	}
}

// nameRuns writes into the state whose it is.
func nameRuns(t *Transition) {
	details := t.Proposed.StateDetails
	details.FlowRunId = new(t.Run.GetId())
	if t.Run.ParentTaskRunId != nil {
		details.TaskRunId = t.Run.ParentTaskRunId
	}
}

// countRun counts attempts; going on after a suspension is none.
func countRun(t *Transition) {
	if t.to() == running && !t.Run.GetEmpiricalPolicy().GetResuming() {
		t.Run.RunCount++
	}
}

func clearResuming(t *Transition) {
	if t.to() == running || Terminal(t.to()) {
		t.Run.GetEmpiricalPolicy().Resuming = new(false)
	}
}

func setSortStart(t *Transition) {
	t.Run.SortStart = t.Run.StartTime
	if t.Run.SortStart == nil {
		t.Run.SortStart = t.Run.ExpectedStartTime
	}
}
