package rules

import (
	"math"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// retryFailedTasks schedules a failed run again while its policy allows another attempt, unless the client marks the
// failure as not retriable.
var retryFailedTasks = TaskRule{
	Name: "RetryFailedTasks", From: setOf(running), To: setOf(failed),
	Before: func(t *TaskTransition) {
		policy := t.Run.GetEmpiricalPolicy()
		if retriable := t.Proposed.GetStateDetails().Retriable; retriable != nil && !*retriable {
			return
		}
		if policy.Retries == nil || t.Run.GetRunCount() > policy.GetRetries() {
			return
		}
		delay := retryDelay(policy.GetRetryDelay(), t.Run.GetRunCount())
		if factor := policy.GetRetryJitterFactor(); factor > 0 {
			delay = jitter(delay, factor, t.Facts.Random())
		}
		instead := t.newState(scheduled, nameAwaitingRetry)
		instead.Message = t.Proposed.Message
		instead.Data = t.Proposed.Data
		instead.StateDetails.ScheduledTime = timestamppb.New(t.Now.Add(seconds(delay)))
		t.reject(instead, "Retrying")
	},
}

// retryDelay returns the delay in seconds after an attempt, counted from 1. The last element of a list applies to all
// further attempts.
func retryDelay(d *orchv1.RetryDelay, attempt int64) float64 {
	switch kind := d.GetKind().(type) {
	case *orchv1.RetryDelay_Integer:
		return float64(kind.Integer)
	case *orchv1.RetryDelay_Number:
		return kind.Number
	case *orchv1.RetryDelay_Numbers:
		if list := kind.Numbers.GetValues(); len(list) > 0 {
			return list[max(0, min(attempt, int64(len(list)))-1)]
		}
	}
	return 0
}

// jitter spreads a delay like the gaps of a Poisson process, so that runs which failed together do not retry together.
// The result is at most 1+factor times the delay. The lower tail is cut equally, which preserves the median. Chance is
// in [0, 1).
func jitter(delay, factor, chance float64) float64 {
	cut := math.Exp(-(1 + factor))
	return -math.Log1p(-(cut + chance*(1-2*cut))) * delay
}

// maxDelay keeps scheduled times within the contract's range.
const maxDelay = 100 * 365 * 24 * time.Hour

// seconds returns a duration in microseconds, the stored unit.
func seconds(s float64) time.Duration {
	if !(s > 0) {
		return 0
	}
	return min(maxDelay, time.Duration(math.Min(s, maxDelay.Seconds())*1e6)*time.Microsecond)
}
