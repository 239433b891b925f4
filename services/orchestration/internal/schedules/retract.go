package schedules

import (
	"slices"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
)

// obsolete reports whether a plan is not one for the current schedules of a deployment; nil is a deleted deployment.
func obsolete(p planned, d *orchv1.Deployment) bool {
	return d == nil || d.GetScheduleGeneration() != p.batch.Generation
}

// retracted selects what a change of a deployment deletes of its runs. A change of a schedule leaves runs that are due.
func retracted(p planned, d *orchv1.Deployment) flowruns.Unstarted {
	switch {
	case d == nil:
		return flowruns.AnyScheduled
	case d.GetPaused() || slices.ContainsFunc(p.batch.Schedules, func(one planning) bool { return Find(d, one.Schedule) == nil }):
		return flowruns.AutoScheduled
	default:
		return flowruns.AutoFuture
	}
}

// runIDs are the ids of the runs that an effect creates.
func (p planned) runIDs() []uuid.UUID {
	var ids []uuid.UUID
	for _, one := range p.batch.Schedules {
		for range one.Times {
			ids = append(ids, derivedID(p.effect, uint64(len(ids)), 'r'))
		}
	}
	return ids
}
