package rules

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/clientversion"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// SlotNeed is the operation on a deployment's limit that must precede the decision.
type SlotNeed int

const (
	// NoSlot means that the rules need no slot.
	NoSlot SlotNeed = iota
	// LookForSlot checks for a free slot without acquiring it.
	LookForSlot
	// TakeSlot acquires a slot.
	TakeSlot
	// RenewSlot renews the run's slot, or acquires another one.
	RenewSlot
)

// Slot is the result of that operation. Rules only read it; the caller releases a slot that the decision did not use.
type Slot struct {
	// Missing reports that the run's deployment does not exist.
	Missing bool
	// Limit is the number of the deployment's slots; nil means unlimited.
	Limit *int64
	// Renewed reports that the run's lease was still valid.
	Renewed bool
	// Lease belongs to the slot acquired for this transition; empty if none was free. Free is the result of
	// LookForSlot.
	Lease string
	Free  bool
	// CancelNew reports that a run without a slot is cancelled instead of waiting.
	CancelNew bool
}

// Use describes the changes of a deployment's slots when the transition is written.
type Use struct {
	// Taken is the lease of the acquired slot, if the run keeps it.
	Taken string
	// Kept is a lease that ends while its slot stays acquired, because the client does not renew it.
	Kept string
	// Released reports that the run releases its slot, and the lease of that slot, if any.
	Released      bool
	ReleasedLease string
	// Withdrawn reports that the run no longer waits for a slot.
	Withdrawn bool
}

// slotHeld are the states in which a run of a deployment holds a slot.
var slotHeld = setOf(pending, running, cancelling)

// AwaitingConcurrencySlot is the state name of a run that waits for a slot.
const AwaitingConcurrencySlot = "AwaitingConcurrencySlot"

const (
	// SlotWait is the delay before the next attempt.
	SlotWait  = 30 * time.Second
	noSlotWhy = "Deployment concurrency limit reached."
)

// NeedsSlot returns the slot operation that must precede the decision on a proposal.
func (p Policy) NeedsSlot(run *orchv1.FlowRun, proposal *orchv1.StateCreate, client clientversion.Client) SlotNeed {
	if run.DeploymentId == nil {
		return NoSlot
	}
	from, to := run.GetState().GetType(), proposal.GetType()
	for _, rule := range p {
		if !rule.From.Has(from) || !rule.To.Has(to) {
			continue
		}
		switch rule.Name {
		case secureSlot.Name:
			if !client.AcquiresSlots() {
				return TakeSlot
			}
		case validateSlot.Name:
			if client.RenewsLeases() && run.GetState().GetStateDetails().GetDeploymentConcurrencyLeaseId() != "" {
				return RenewSlot
			}
		case enforceSlotOnLate.Name:
			if proposal.GetName() == nameLate {
				return LookForSlot
			}
		}
	}
	return NoSlot
}

// useSlot assigns the acquired slot to the run.
func useSlot(t *Transition) {
	t.Use.Taken = t.Slot.Lease
	t.Proposed.StateDetails.DeploymentConcurrencyLeaseId = &t.Slot.Lease
}

func leaveSlot(t *Transition) { t.Use.Taken = "" }

func cancelForWantOfSlot(t *Transition, why string) {
	instead := t.newState(cancelled, "")
	instead.Message = &why
	t.reject(instead, why)
}

// validateSlot ensures that a run which starts still holds its slot, because its lease may have expired while it was
// pending.
var validateSlot = Rule{
	Name: "ValidateDeploymentConcurrencyAtRunning", From: setOf(pending), To: setOf(running),
	Before: func(t *Transition) {
		lease := t.Initial.GetStateDetails().GetDeploymentConcurrencyLeaseId()
		if t.Need != RenewSlot || lease == "" || t.Slot.Renewed || t.Slot.Missing || t.Slot.Limit == nil {
			return
		}
		if t.Slot.Lease == "" {
			cancelForWantOfSlot(t, "The run's slot was given back and there is no other: "+noSlotWhy)
			return
		}
		useSlot(t)
	},
	CleanUp: leaveSlot,
}

// secureSlot limits the pending and running runs of a deployment to its slots.
var secureSlot = Rule{
	Name: "SecureFlowConcurrencySlots", From: anyState &^ slotHeld, To: setOf(pending),
	Before: func(t *Transition) {
		if t.Need != TakeSlot {
			return
		}
		switch {
		case t.Slot.Missing:
			t.abort("Deployment not found.")
		case t.Slot.Limit == nil:
		case *t.Slot.Limit <= 0:
			t.abort("The deployment concurrency limit is 0. The flow will deadlock if submitted again.")
		case t.Slot.Lease != "":
			useSlot(t)
		case t.Slot.CancelNew:
			cancelForWantOfSlot(t, noSlotWhy)
		default:
			instead := t.newState(scheduled, AwaitingConcurrencySlot)
			instead.StateDetails.ScheduledTime = timestamppb.New(t.Now.Add(SlotWait))
			t.reject(instead, noSlotWhy)
		}
	},
	CleanUp: leaveSlot,
}

// removeLease lets clients without lease support keep their slot until they leave the state.
var removeLease = Rule{
	Name: "RemoveDeploymentConcurrencyLeaseForOldClientVersions", From: setOf(pending), To: setOf(running, cancelling),
	After: func(t *Transition) {
		if !t.Client.RenewsLeases() {
			t.Use.Kept = t.Proposed.GetStateDetails().GetDeploymentConcurrencyLeaseId()
		}
	},
}

// enforceSlotOnLate cancels a late run of a full deployment, if the deployment is configured so.
var enforceSlotOnLate = Rule{
	Name: "EnforceDeploymentConcurrencyOnLate", From: setOf(scheduled), To: setOf(scheduled),
	Before: func(t *Transition) {
		if t.Need == LookForSlot && t.Slot.Limit != nil && t.Slot.CancelNew && !t.Slot.Free {
			cancelForWantOfSlot(t, noSlotWhy)
		}
	},
}

// releaseSlot releases the slot when a run leaves the states that need one. An in-process retry keeps it. A run that waited for a slot and
// leaves that state without one waits no longer.
var releaseSlot = Rule{
	Name: "ReleaseFlowConcurrencySlots", Universal: true,
	After: func(t *Transition) {
		t.Use.Withdrawn = t.Initial.GetName() == AwaitingConcurrencySlot && t.Proposed.GetName() != AwaitingConcurrencySlot && t.Use.Taken == ""
		if t.Run.DeploymentId == nil || t.from() == none || !slotHeld.Has(t.from()) || slotHeld.Has(t.to()) {
			return
		}
		if t.Proposed.GetName() == nameAwaitingRetry && t.status == orchv1.SetStateStatus_SET_STATE_STATUS_REJECT {
			return
		}
		t.Use.Released = true
		t.Use.ReleasedLease = t.Initial.GetStateDetails().GetDeploymentConcurrencyLeaseId()
	},
}
