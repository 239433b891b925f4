package liveness

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// The bounds of the durations in rules. Clients send heartbeats every 30 seconds at most.
const (
	minDuration = 30 * time.Second
	maxInterval = 24 * time.Hour
	maxPending  = 7 * 24 * time.Hour
)

// check returns the field errors of rules as one 422, nil for valid rules.
func check(rules []*orchv1.RunTimeoutRule) error {
	var errs []*orchv1.FieldError
	taken := map[string]bool{}
	for i, rule := range rules {
		add := func(field, format string, args ...any) {
			errs = append(errs, fieldError(i, field, fmt.Sprintf(format, args...)))
		}
		within := func(field string, d *durationpb.Duration, zero bool, most time.Duration) {
			if value := d.AsDuration(); d != nil && (value != 0 || !zero) && (value < minDuration || value > most) {
				add(field, "must be between %d and %d seconds", int(minDuration.Seconds()), int(most.Seconds()))
			}
		}
		within("heartbeat_interval", rule.GetHeartbeatInterval(), false, maxInterval)
		within("pending_timeout", rule.GetPendingTimeout(), true, maxPending)
		if rule.GetMissedHeartbeats() == 1 {
			add("missed_heartbeats", "must be 0 or at least 2: every heartbeat may be late")
		}
		if taken[rule.GetDeploymentId()] {
			add("deployment_id", "another rule applies to the same runs")
		}
		taken[rule.GetDeploymentId()] = true
	}
	if len(errs) > 0 {
		return rpc.Invalid(errs...)
	}
	return nil
}

func fieldError(rule int, field, text string) *orchv1.FieldError {
	e := rpc.BodyError("value_error", "Value error, "+text, "rules")
	e.Loc = append(e.Loc, &orchv1.PathElement{Kind: &orchv1.PathElement_Index{Index: int64(rule)}},
		&orchv1.PathElement{Kind: &orchv1.PathElement_Key{Key: field}})
	return e
}
