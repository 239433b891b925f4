package schedules

import (
	"time"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// A replica may stall while it executes an effect, so another one executes the effect too and removes it. If a user changes
// the deployment then, the stalled replica inserts obsolete runs. It retracts them, unless it is killed before:
//
//	replica A: read deployment ─── stalled ──────────────────────────▶ insert runs ─▶ killed
//	replica B:                      insert runs, remove effect
//	user:                                                  change: delete runs
//	scheduler:                                                                    RecheckAfter: delete runs again
//
// So the scheduler deletes obsolete runs once more, some time after each change.

// RecheckAfter is the time after a change at which obsolete runs are deleted once more. It exceeds the timeout of an insert.
const RecheckAfter = time.Minute

// recheckDue reports whether obsolete runs of a deployment have to be deleted once more.
func recheckDue(d *orchv1.Deployment, now time.Time) bool {
	return d.ScheduleRecheck != nil && !d.GetScheduleRecheck().AsTime().After(now)
}

// recheck returns the effect that deletes what is left of older generations. The runs that a change keeps because they were
// due then are still due, so they stay.
func (s *Scheduler) recheck(ws, id uuid.UUID, d *orchv1.Deployment) store.Effect {
	which := flowruns.AutoFuture
	if d.GetPaused() {
		which = flowruns.AutoScheduled
	}
	return flowruns.DeleteUnstarted(s.store, ws, id, which, d.GetScheduleGeneration())
}
