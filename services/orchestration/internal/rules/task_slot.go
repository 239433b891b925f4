package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// TaskSlots is the result of acquiring one slot for each of a task run's tags, all or none. The caller releases slots
// that the decision did not use.
type TaskSlots struct {
	// Never is a tag with limit 0: no task run ever gets a slot of it.
	Never string
	// Full are the tags without a free slot, and Wait is the delay before the next attempt.
	Full []string
	Wait time.Duration
	// Lease belongs to the acquired slots; empty if the tags have no limits.
	Lease string
}

// TaskUse describes the slot changes when the transition is written.
type TaskUse struct {
	// Taken is the lease of the acquired slots, if the run keeps them.
	Taken string
	// Released are the leases of the slots that the run releases.
	Released []string
	// Withdrawn reports that the run no longer waits for slots.
	Withdrawn bool
}

// taskSlotHeld are the states in which a task run holds slots of its tags.
var taskSlotHeld = setOf(running, cancelling)

// AsksSlots reports whether the decision needs slots of the run's tags. If an earlier rule decides, such as the cache,
// it needs none.
func (p TaskPolicy) AsksSlots(run *orchv1.TaskRun, proposal *orchv1.StateCreate, facts TaskFacts, now time.Time, newID func() uuid.UUID) bool {
	if proposal.GetType() != running || len(run.GetTags()) == 0 {
		return false
	}
	facts.Slots = nil
	t := ProposeTask(run, proposal, facts, now, newID)
	p.Judge(t)
	return t.asksSlots
}

// secureTaskSlots limits the running task runs of a tag to the slots of its limit. A run that holds its slots keeps
// them.
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

// releaseTaskSlots releases the tag slots of a run that stops running, whether this server or a client acquired them. A run that ends
// before it runs waits no longer.
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
		t.Use.Withdrawn = Terminal(t.to()) && !taskSlotHeld.Has(t.from()) && len(t.Run.GetTags()) > 0
	},
}
