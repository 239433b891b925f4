package rules

const (
	nameNotReady  = "NotReady"
	nameRetrying  = "Retrying"
	nameRerunning = "Rerunning"
)

// preventRunningInStoppedFlows lets tasks run only while their flow run does.
var preventRunningInStoppedFlows = TaskRule{
	Name: "PreventRunningTasksFromStoppedFlows", From: anyState, To: setOf(running),
	Before: func(t *TaskTransition) {
		flow := t.Facts.FlowRun
		switch {
		case flow == nil || flow.GetState().GetType() == running:
		case flow.GetState().GetType() == paused:
			instead := t.newState(paused, nameNotReady)
			instead.StateDetails.PauseTimeout = flow.GetState().GetStateDetails().GetPauseTimeout()
			instead.StateDetails.PauseReschedule = flow.GetState().GetStateDetails().GetPauseReschedule()
			t.reject(instead, "The flow is paused, new tasks can execute after resuming flow run: "+flow.GetId()+".")
		default:
			t.abort("The enclosing flow must be running to begin task execution.")
		}
	},
}

// followFlowRunCount records the flow run's attempt in the task run. A task run whose flow run was deleted cannot run;
// see MissingFlowRun.
var followFlowRunCount = TaskRule{
	Name: "UpdateFlowRunTrackerOnTasks", From: anyState, To: setOf(running),
	Before: func(t *TaskTransition) {
		switch {
		case t.Facts.FlowRun != nil:
			t.Run.FlowRunRunCount = t.Facts.FlowRun.GetRunCount()
		case t.Run.FlowRunId != nil:
			t.abort("The flow run of this task run is gone.")
			t.missingFlowRun = true
		}
	},
}

// MissingFlowRun reports that nothing was written because the flow run was deleted.
func (t *TaskTransition) MissingFlowRun() bool { return t.missingFlowRun }

// handleTaskTerminalStates guards ended runs: they may run again, but their result is never removed.
var handleTaskTerminalStates = TaskRule{
	Name: "HandleTaskTerminalStateTransitions", From: terminal, To: anyState,
	Before: func(t *TaskTransition) {
		t.runCountBefore = t.Run.GetRunCount()
		to := t.to()
		switch {
		case setOf(cancelling, paused, crashed).Has(to):
			t.abort("The run has already ended.")
			return
		case t.from() == completed && persisted(t.Initial):
			t.reject(nil, "This run is already completed.")
			return
		}
		if !Terminal(to) {
			// Its retry count starts again.
			t.Run.RunCount = 0
		}
		if to == running && t.Facts.FlowRun.GetRunCount() > t.Run.GetFlowRunRunCount() {
			t.Proposed.Name = new(nameRetrying)
		}
	},
	CleanUp: func(t *TaskTransition) { t.Run.RunCount = t.runCountBefore },
}

// renameReruns marks a rerun in the run's name.
var renameReruns = TaskRule{
	Name: "RenameReruns", From: anyState, To: setOf(running),
	Before: func(t *TaskTransition) {
		switch {
		case t.Run.GetRunCount() == 0:
		case t.Initial.GetName() == nameAwaitingRetry:
			t.Proposed.Name = new(nameRetrying)
		default:
			t.Proposed.Name = new(nameRerunning)
		}
	},
}

// copyTaskParametersID copies the reference to the run's parameters into a pending state.
var copyTaskParametersID = TaskRule{
	Name: "CopyTaskParametersID", From: setOf(scheduled), To: setOf(pending),
	Before: func(t *TaskTransition) {
		if t.Proposed.StateDetails.TaskParametersId == nil {
			t.Proposed.StateDetails.TaskParametersId = t.Initial.GetStateDetails().TaskParametersId
		}
	},
}
