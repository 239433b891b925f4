package runorder

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/fair"
)

// Run is a run that waits.
type Run struct {
	// Deployment is empty for runs without one; these count as runs of one deployment.
	Deployment string
	ID         string
	Start      time.Time
	// Priority is from 0 to MaxPriority, and Weight, which is that of the deployment, from 1 to MaxWeight.
	Priority, Weight int64
}

// VirtualTime are the starts that the deployments of a queue have had, as virtual time. The zero value has had none.
type VirtualTime struct {
	// ahead is the virtual time of deployments that are ahead of now.
	ahead map[string]float64
	now   float64
}

// maxAhead bounds the deployments of VirtualTime; beyond it all of them have had no starts.
const maxAhead = 10_000

func (t *VirtualTime) timeOf(deployment string) float64 { return max(t.now, t.ahead[deployment]) }

// cost is the virtual time by which the start of the run delays its deployment.
func (r Run) cost() float64 { return 1 / (float64(max(1, r.Weight)) * float64(1+max(0, r.Priority))) }

// Started records the start of a run.
func (t *VirtualTime) Started(run Run) {
	t.now = t.timeOf(run.Deployment)
	maps.DeleteFunc(t.ahead, func(_ string, at float64) bool { return at <= t.now })
	if t.ahead == nil || len(t.ahead) >= maxAhead {
		t.ahead = map[string]float64{}
	}
	t.ahead[run.Deployment] = t.now + run.cost()
}

// Clone returns a copy; nil had no starts.
func (t *VirtualTime) Clone() *VirtualTime {
	if t == nil {
		return &VirtualTime{}
	}
	return &VirtualTime{ahead: maps.Clone(t.ahead), now: t.now}
}

// Least returns at most so many deployments, those with the least virtual time first.
func (t *VirtualTime) Least(deployments []uuid.UUID, limit int) []uuid.UUID {
	if len(deployments) <= limit {
		return deployments
	}
	least := slices.Clone(deployments)
	slices.SortStableFunc(least, func(a, b uuid.UUID) int { return cmp.Compare(t.timeOf(a.String()), t.timeOf(b.String())) })
	return least[:limit]
}

// Order returns the runs in the order in which they start. Order changes neither the runs nor the virtual time.
func Order(runs []Run, virtual *VirtualTime) []Run {
	waiting := map[string][]Run{}
	for _, run := range runs {
		waiting[run.Deployment] = append(waiting[run.Deployment], run)
	}
	deployments := slices.Collect(maps.Values(waiting))
	for _, ranked := range deployments {
		slices.SortFunc(ranked, compare)
	}
	slices.SortFunc(deployments, func(a, b []Run) int { return compare(a[0], b[0]) }) // Of equal virtual time, the first rank comes first.
	var queue fair.Queue[[]Run]
	for _, ranked := range deployments {
		queue.Push(ranked, virtual.timeOf(ranked[0].Deployment))
	}
	ordered := make([]Run, 0, len(runs))
	for queue.Len() > 0 {
		first := queue.First()
		queue.Remove(first)
		ordered = append(ordered, first.Value[0])
		if later := first.Value[1:]; len(later) > 0 {
			queue.Push(later, first.Finish+first.Value[0].cost())
		}
	}
	return ordered
}

// compare orders the runs of a deployment.
func compare(a, b Run) int {
	return cmp.Or(Rank(a.Start, a.Priority).Compare(Rank(b.Start, b.Priority)), cmp.Compare(a.ID, b.ID))
}
