package rules

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// retryFailedFlows schedules a failed run again while its policy allows another attempt. The client that ran it waits
// and retries in process; the retry type keeps workers from taking the run meanwhile.
var retryFailedFlows = Rule{
	Name: "RetryFailedFlows", From: setOf(running), To: setOf(failed),
	Before: func(t *Transition) {
		policy := t.Run.GetEmpiricalPolicy()
		if policy.Retries == nil || t.Run.GetRunCount() > policy.GetRetries() {
			policy.RetryType = nil
			return
		}
		instead := t.newState(scheduled, nameAwaitingRetry)
		instead.Message = t.Proposed.Message
		instead.Data = t.Proposed.Data
		delay := time.Duration(policy.GetRetryDelay()) * time.Second
		instead.StateDetails.ScheduledTime = timestamppb.New(t.Now.Add(delay))
		instead.StateDetails.DeploymentConcurrencyLeaseId = t.Proposed.GetStateDetails().DeploymentConcurrencyLeaseId
		t.RetriesTasks = !t.Client.RetriesTaskRuns()
		if t.Client.TracksPauses() {
			resetPauses(policy, orchv1.RetryType_RETRY_TYPE_IN_PROCESS.Enum())
		}
		t.reject(instead, "Retrying")
	},
}
