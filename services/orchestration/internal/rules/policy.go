package rules

// Rule is one rule of a flow run policy.
type Rule = rule[*Transition]

// TaskRule is one rule of a task run policy.
type TaskRule = rule[*TaskTransition]

// Policy is an ordered list of rules for flow runs.
type Policy []Rule

// TaskPolicy is an ordered list of rules for task runs.
type TaskPolicy []TaskRule

// CoreFlowPolicy decides on clients' proposals for flow runs.
var CoreFlowPolicy = Policy{
	preserveConcurrencyLease,
	preventDuplicateTransitions,
	preventStartsOfLostAttempts,
	handleFlowTerminalStates,
	enforceCancellingToCancelled,
	bypassCancellingWithoutInfrastructure,
	preventPendingTransitions[*Transition](),
	skipLateRuns,
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

// MinimalFlowPolicy decides on forced transitions: it only prevents the loss of leases and results, and cancellations that
// never end.
var MinimalFlowPolicy = Policy{
	preserveConcurrencyLease,
	preventResultDataLoss,
	bypassCancellingWithoutInfrastructure,
	releaseSlot,
}

// CoreTaskPolicy decides on clients' proposals for the task runs of flow runs.
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

// BackgroundTaskPolicy decides on clients' proposals for task runs without a flow run, for which several workers may
// compete.
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

// MinimalTaskPolicy accepts every forced transition of a task run.
var MinimalTaskPolicy = TaskPolicy{
	releaseTaskSlots,
}

// Judge applies the policy and, if a state is to be written, the transforms; that state then is the run's state. Call
// it once per transition.
func (p Policy) Judge(t *Transition) { judge(p, t, flowTransforms) }

// Judge is Policy.Judge for task runs.
func (p TaskPolicy) Judge(t *TaskTransition) { judge(p, t, taskTransforms) }
