package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// TaskSlots is what came of asking for a slot of each of a task run's tags: all of them, or none. Whoever asked gives
// slots back that the judgement did not use.
type TaskSlots struct {
	// Never is a tag whose limit is 0: no task run will ever get a slot of it.
	Never string
	// Full are the tags that were asked for in vain, and Wait is how long to wait before asking again.
	Full []string
	Wait time.Duration
	// Lease is that of the slots that were taken; empty when the tags have no limits.
	Lease string
}

// TaskUse says what becomes of slots when the transition is written.
type TaskUse struct {
	// Taken is the lease of the slots that were taken for the transition, when the run keeps them.
	Taken string
	// Released are the leases of the slots that the run gives back.
	Released []string
}

// taskSlotHeld are the states in which a task run holds slots of its tags.
var taskSlotHeld = setOf(running, cancelling)

// AsksSlots tells whether the policy wants to know of the slots of a task run's tags before it judges a proposal. Where
// an earlier rule decides, such as that of the cache, none are asked for.
func (p TaskPolicy) AsksSlots(run *orchv1.TaskRun, proposal *orchv1.StateCreate, facts TaskFacts, now time.Time, newID func() uuid.UUID) bool {
	if proposal.GetType() != running || len(run.GetTags()) == 0 {
		return false
	}
	facts.Slots = nil
	t := ProposeTask(run, proposal, facts, now, newID)
	p.Judge(t)
	return t.asksSlots
}

// secureTaskSlots lets as many task runs of a tag run as its limit has slots. A run that has its slots keeps them.
var secureTaskSlots = TaskRule{
	Name: "SecureTaskConcurrencySlots", From: anyState, To: setOf(running),
	Before: func(t *TaskTransition) {
		slots := t.Facts.Slots
		switch {
		case len(t.Run.GetTags()) == 0 || t.Run.SlotLeaseId != nil:
		case slots == nil:
			t.asksSlots = true
		case slots.Never != "":
			t.abort("The concurrency limit of the tag \"" + slots.Never + "\" is 0: the task would wait for ever.")
		case len(slots.Full) > 0:
			t.wait(slots.Wait, "There is no free slot under the concurrency limits of the tags "+strings.Join(slots.Full, ", ")+".")
		case slots.Lease != "":
			t.Use.Taken = slots.Lease
			t.Run.SlotLeaseId = &slots.Lease
		}
	},
	CleanUp: func(t *TaskTransition) {
		if t.Use.Taken != "" {
			t.Use.Taken, t.Run.SlotLeaseId = "", nil
		}
	},
}

// releaseTaskSlots gives back what a run holds of its tags' limits when it does not run any longer, whether this server
// or a client took it for the run.
var releaseTaskSlots = TaskRule{
	Name: "ReleaseTaskConcurrencySlots", Universal: true,
	After: func(t *TaskTransition) {
		if taskSlotHeld.Has(t.to()) {
			return
		}
		t.Use.Released = slices.Clone(t.Facts.Held)
		if own := t.Run.GetSlotLeaseId(); own != "" && !slices.Contains(t.Use.Released, own) {
			t.Use.Released = append(t.Use.Released, own)
		}
		t.Run.SlotLeaseId = nil
	},
}
