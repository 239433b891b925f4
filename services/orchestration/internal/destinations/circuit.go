package destinations

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// failuresToOpen is the number of consecutive failures that open the circuit.
const failuresToOpen = 5

// afterFailure returns the circuit after a failed attempt. It is open, with the time of its next probe, after failuresToOpen failures, or
// when the destination asked for a pause. The destination counts as failing in the first case only.
func afterFailure(c *orchv1.DestinationCircuit, cause string, pause time.Duration, now time.Time, random float64) *orchv1.DestinationCircuit {
	next := &orchv1.DestinationCircuit{}
	if c != nil {
		next = proto.CloneOf(c)
	}
	next.Failures++
	next.Cause = cause
	wait := pause
	if next.GetFailures() >= failuresToOpen {
		wait = max(wait, probeWait(next.GetFailures()-failuresToOpen, random))
		if next.FailingSince == nil {
			next.FailingSince = timestamppb.New(now)
		}
	}
	if probe := now.Add(wait); wait > 0 && (next.Probe == nil || probe.After(next.GetProbe().AsTime())) {
		next.Probe = timestamppb.New(probe)
	}
	return next
}

// probing reports whether the circuit is open.
func probing(c *orchv1.DestinationCircuit) bool { return c != nil && c.Probe != nil }

// healthOf returns what a circuit shows to readers; nil is one without failures.
func healthOf(c *orchv1.DestinationCircuit) *orchv1.DestinationHealth {
	health := &orchv1.DestinationHealth{
		Status: orchv1.DestinationStatus_DESTINATION_STATUS_HEALTHY, Since: c.GetFailingSince(), NextProbe: c.GetProbe(), Failures: c.GetFailures(),
	}
	if c.GetCause() != "" {
		health.Cause = &c.Cause
	}
	switch {
	case health.Since != nil:
		health.Status = orchv1.DestinationStatus_DESTINATION_STATUS_FAILING
	case health.NextProbe != nil:
		health.Status = orchv1.DestinationStatus_DESTINATION_STATUS_PAUSED
	}
	return health
}
