package liveness

import (
	"time"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// timeouts are those that apply to a run.
type timeouts struct {
	interval time.Duration
	// missed is the number of intervals without a heartbeat after which the run is lost; 0 means never.
	missed int64
	// pending is the time in PENDING after which the run is lost; 0 means never.
	pending time.Duration
	// Whether a lost run is scheduled again.
	rescheduleSilent, reschedulePending bool
	// Whether the heartbeats of a worker count for runs that send none.
	workers bool
}

// defaults are the timeouts without rules. The interval is that of clients which set none.
var defaults = timeouts{interval: 3 * time.Minute, missed: 3, reschedulePending: true}

// with returns the timeouts with the fields of a rule that are set.
func (t timeouts) with(rule *orchv1.RunTimeoutRule) timeouts {
	if rule.HeartbeatInterval != nil {
		t.interval = rule.GetHeartbeatInterval().AsDuration()
	}
	if rule.MissedHeartbeats != nil {
		t.missed = rule.GetMissedHeartbeats()
	}
	if rule.OnMissedHeartbeats != nil {
		t.rescheduleSilent = rule.GetOnMissedHeartbeats() == orchv1.LostRunAction_LOST_RUN_ACTION_RESCHEDULE
	}
	if rule.PendingTimeout != nil {
		t.pending = rule.GetPendingTimeout().AsDuration()
	}
	if rule.OnPendingTimeout != nil {
		t.reschedulePending = rule.GetOnPendingTimeout() == orchv1.LostRunAction_LOST_RUN_ACTION_RESCHEDULE
	}
	if rule.WorkerHeartbeats != nil {
		t.workers = rule.GetWorkerHeartbeats()
	}
	return t
}

// owner is what timeouts apply to: a workspace, or one of its deployments.
type owner struct{ workspace, deployment uuid.UUID }

// timeoutSet has the timeouts of all workspaces that have rules.
type timeoutSet map[owner]timeouts

// add adds the rules of a workspace. Invalid ids of deployments match no run.
func (s timeoutSet) add(ws uuid.UUID, rules []*orchv1.RunTimeoutRule) {
	whole := defaults
	for _, rule := range rules {
		if rule.DeploymentId == nil {
			whole = whole.with(rule)
		}
	}
	s[owner{workspace: ws}] = whole
	for _, rule := range rules {
		if id, err := uuid.Parse(rule.GetDeploymentId()); err == nil {
			s[owner{ws, id}] = whole.with(rule)
		}
	}
}

// forRun returns the timeouts of the runs of a deployment, or of those without one.
func (s timeoutSet) forRun(ws, deployment uuid.UUID) timeouts {
	for _, o := range []owner{{ws, deployment}, {workspace: ws}} {
		if t, ok := s[o]; ok {
			return t
		}
	}
	return defaults
}

// endPending reports whether any run can be lost while it is pending.
func (s timeoutSet) endPending() bool {
	for _, t := range s {
		if t.pending > 0 {
			return true
		}
	}
	return false
}
