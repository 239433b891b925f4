package rules

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// SlotNeed is what must be tried with a deployment's limit before a transition can be judged.
type SlotNeed int

const (
	// NoSlot is needed: the rules do not ask.
	NoSlot SlotNeed = iota
	// LookForSlot asks whether one is free; none is taken.
	LookForSlot
	// TakeSlot asks for one.
	TakeSlot
	// RenewSlot asks that the one which the run has stays its own, or that it gets another.
	RenewSlot
)

// Slot is what came of the attempt. The rules do nothing but look at it: whoever made the attempt gives a slot back that
// the judgement did not use.
type Slot struct {
	// Missing means that the run's deployment does not exist.
	Missing bool
	// Limit is the number of the deployment's slots; nil means that it has no limit.
	Limit *int64
	// Renewed means that the run's lease is alive.
	Renewed bool
	// Lease is that of a slot that was taken for this transition; empty when none was free. Free is what a look found.
	Lease string
	Free  bool
	// CancelNew means that a run for which there is no slot is cancelled instead of waiting.
	CancelNew bool
}

// Use says what becomes of a deployment's slots when the transition is written.
type Use struct {
	// Taken is the lease of the slot that was taken for the transition, when the run keeps it.
	Taken string
	// Kept is a lease that ends while its slot stays taken: the client does not renew it.
	Kept string
	// Released means that the run gives its slot back, and under which lease it had it, if under any.
	Released      bool
	ReleasedLease string
}

// slotHeld are the states in which a run of a deployment holds a slot.
var slotHeld = setOf(pending, running, cancelling)

// AwaitingConcurrencySlot is the name of the state of a run that waits for a slot.
const AwaitingConcurrencySlot = "AwaitingConcurrencySlot"

const (
	// slotWait is how long a run waits before it is tried again.
	slotWait  = 30 * time.Second
	noSlotWhy = "Deployment concurrency limit reached."
)

// NeedsSlot tells what must be tried before the policy can judge a proposal of a run.
func (p Policy) NeedsSlot(run *orchv1.FlowRun, proposal *orchv1.StateCreate, client Version) SlotNeed {
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
			if !client.takesSlotsItself() {
				return TakeSlot
			}
		case validateSlot.Name:
			if client.renewsLeases() && run.GetState().GetStateDetails().GetDeploymentConcurrencyLeaseId() != "" {
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

// useSlot gives the run the slot that was taken for it.
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

// validateSlot makes sure that a run which begins to run still has its slot: it may have been pending for longer than its
// lease.
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

// secureSlot lets as many runs of a deployment become pending as it has slots.
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
			instead.StateDetails.ScheduledTime = timestamppb.New(t.Now.Add(slotWait))
			t.reject(instead, noSlotWhy)
		}
	},
	CleanUp: leaveSlot,
}

// removeLease lets clients keep their slot that know nothing of leases: it is theirs until they leave it.
var removeLease = Rule{
	Name: "RemoveDeploymentConcurrencyLeaseForOldClientVersions", From: setOf(pending), To: setOf(running, cancelling),
	After: func(t *Transition) {
		if !t.Client.renewsLeases() {
			t.Use.Kept = t.Proposed.GetStateDetails().GetDeploymentConcurrencyLeaseId()
		}
	},
}

// enforceSlotOnLate cancels a run that could not start in time because its deployment was full, where that is wanted.
var enforceSlotOnLate = Rule{
	Name: "EnforceDeploymentConcurrencyOnLate", From: setOf(scheduled), To: setOf(scheduled),
	Before: func(t *Transition) {
		if t.Need == LookForSlot && t.Slot.Limit != nil && t.Slot.CancelNew && !t.Slot.Free {
			cancelForWantOfSlot(t, noSlotWhy)
		}
	},
}

// releaseSlot gives the slot back when a run leaves the states in which it needs one. A run that tries again in the same
// process keeps it.
var releaseSlot = Rule{
	Name: "ReleaseFlowConcurrencySlots", Universal: true,
	After: func(t *Transition) {
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
