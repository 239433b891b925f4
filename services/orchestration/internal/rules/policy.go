package rules

// Rule is one part of a policy on flow runs.
type Rule = rule[*Transition]

// TaskRule is one part of a policy on task runs.
type TaskRule = rule[*TaskTransition]

// Policy is an ordered list of rules for flow runs.
type Policy []Rule

// TaskPolicy is an ordered list of rules for task runs.
type TaskPolicy []TaskRule

// CoreFlowPolicy judges what clients propose for flow runs.
var CoreFlowPolicy = Policy{
	preserveConcurrencyLease,
	preventDuplicateTransitions,
	handleFlowTerminalStates,
	enforceCancellingToCancelled,
	bypassCancellingWithoutInfrastructure,
	preventPendingTransitions[*Transition](),
	validateSlot,
	secureSlot,
	removeLease,
	ensureOnlyScheduledMarkedLate,
	handlePausing,
	handleResuming,
	copyScheduledTime[*Transition](),
	waitForScheduledTime[*Transition](),
	retryFailedFlows,
	releaseSlot,
}

// MinimalFlowPolicy judges forced transitions: it only keeps results from being lost and runs without infrastructure from hanging.
var MinimalFlowPolicy = Policy{
	preventResultDataLoss,
	bypassCancellingWithoutInfrastructure,
	releaseSlot,
}

// CoreTaskPolicy judges what clients propose for the task runs of flow runs.
var CoreTaskPolicy = TaskPolicy{
	retrieveFromCache,
	handleTaskTerminalStates,
	preventRunningInStoppedFlows,
	secureTaskSlots,
	copyScheduledTime[*TaskTransition](),
	waitForScheduledTime[*TaskTransition](),
	retryFailedTasks,
	renameReruns,
	followFlowRunCount,
	insertIntoCache,
	releaseTaskSlots,
}

// BackgroundTaskPolicy judges what clients propose for task runs that no flow run waits for: several workers may want one.
var BackgroundTaskPolicy = TaskPolicy{
	preventPendingTransitions[*TaskTransition](),
	retrieveFromCache,
	handleTaskTerminalStates,
	preventRunningInStoppedFlows,
	secureTaskSlots,
	copyScheduledTime[*TaskTransition](),
	copyTaskParametersID,
	waitForScheduledTime[*TaskTransition](),
	retryFailedTasks,
	renameReruns,
	followFlowRunCount,
	insertIntoCache,
	releaseTaskSlots,
}

// MinimalTaskPolicy judges forced transitions of task runs: everything passes.
var MinimalTaskPolicy = TaskPolicy{
	releaseTaskSlots,
}

// Judge applies the policy and, where something is to be written, the transforms; the run's state is then the written
// one. It may be called once for a transition.
func (p Policy) Judge(t *Transition) { judge(p, t, flowTransforms) }

// Judge is Policy.Judge for task runs.
func (p TaskPolicy) Judge(t *TaskTransition) { judge(p, t, taskTransforms) }
