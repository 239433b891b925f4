package rules

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// LostRunPolicy decides on the server's own proposal to end or reschedule a run that its process no longer executes, or that does not
// start.
var LostRunPolicy = Policy{
	takeBackLostRuns,
	releaseSlot,
}

// Reschedulable reports whether a lost run may start once more: workers start runs of deployments alone, and each start counts as a
// retry unless the run is pending.
func Reschedulable(run *orchv1.FlowRun) bool {
	if run.DeploymentId == nil {
		return false
	}
	return run.GetState().GetType() == pending || run.GetRunCount() <= run.GetEmpiricalPolicy().GetRetries()
}

// takeBackLostRuns ends the attempt of a lost run. A rescheduled run starts anew on a worker. The attempt may report later: it may still
// end a run that nobody has started since, but another start needs a worker's claim.
var takeBackLostRuns = Rule{
	Name: "TakeBackLostRuns", From: setOf(scheduled, pending, running), To: setOf(scheduled, crashed),
	After: func(t *Transition) {
		if t.from() == pending || t.to() == scheduled {
			t.Run.AttemptLost = new(true)
		}
		if t.to() == scheduled {
			resetPauses(t.Run.GetEmpiricalPolicy(), orchv1.RetryType_RETRY_TYPE_RESCHEDULE.Enum())
			t.Proposed.StateDetails.ScheduledTime = timestamppb.New(t.Now)
		}
		// A run that waits for its retry within its process kept its slot, which ReleaseFlowConcurrencySlots leaves alone.
		if lease := t.Initial.GetStateDetails().GetDeploymentConcurrencyLeaseId(); t.from() == scheduled && lease != "" {
			t.Use.Released, t.Use.ReleasedLease = true, lease
		}
	},
}

// preventStartsOfLostAttempts aborts the start of an attempt that the server took back: another attempt may execute the run. The server
// cannot distinguish attempts, so the first attempt that starts after a worker's claim wins.
var preventStartsOfLostAttempts = Rule{
	Name: "PreventStartsOfLostAttempts", From: terminal | setOf(scheduled, running), To: setOf(running),
	Before: func(t *Transition) {
		inProcess := t.from() == scheduled && t.Run.GetEmpiricalPolicy().GetRetryType() == orchv1.RetryType_RETRY_TYPE_IN_PROCESS
		if t.Run.GetAttemptLost() && !inProcess {
			t.abort("The server took this run back from an attempt that it had lost. Only the attempt that a worker claims next may run.")
		}
	},
}
