package runorder

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/fair"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Run is a run that waits.
type Run struct {
	// Deployment is empty for runs without one; these count as runs of one deployment.
	Deployment string
	ID         string
	// Start is when the run is due.
	Start time.Time
	// Rank orders the runs of the deployment; the zero time, of runs of earlier versions, comes first.
	Rank time.Time
	// Priority is from 0 to MaxPriority, and Weight, which is that of the deployment, from 1 to MaxWeight; 0 means none.
	Priority, Weight int64
}

// Waiting returns what orders a flow run.
func Waiting(run *orchv1.FlowRun) Run {
	waiting := Run{
		Deployment: run.GetDeploymentId(), ID: run.GetId(), Start: run.GetNextScheduledStartTime().AsTime(),
		Priority: run.GetPriority(), Weight: run.GetWeight(),
	}
	if run.Rank != nil {
		waiting.Rank = run.GetRank().AsTime()
	}
	return waiting
}

// VirtualTime are the starts that the deployments of a queue have had, as virtual time. The zero value has had none.
type VirtualTime struct {
	// finishes are the virtual finish times of the last starts, by deployment, that are after now.
	finishes map[string]float64
	now      float64
}

// maxFinishes bounds the deployments of VirtualTime; beyond it all of them have had no starts.
const maxFinishes = 10_000

func (t *VirtualTime) timeOf(deployment string) float64 { return max(t.now, t.finishes[deployment]) }

// cost is the virtual time by which the start of the run delays its deployment.
func (r Run) cost() float64 { return 1 / (float64(max(1, r.Weight)) * float64(1+max(0, r.Priority))) }

// Started records the start of a run.
func (t *VirtualTime) Started(run Run) {
	t.now = t.timeOf(run.Deployment)
	maps.DeleteFunc(t.finishes, func(_ string, at float64) bool { return at <= t.now })
	if t.finishes == nil || len(t.finishes) >= maxFinishes {
		t.finishes = map[string]float64{}
	}
	t.finishes[run.Deployment] = t.now + run.cost()
}

// Clone returns a copy; nil had no starts.
func (t *VirtualTime) Clone() *VirtualTime {
	if t == nil {
		return &VirtualTime{}
	}
	return &VirtualTime{finishes: maps.Clone(t.finishes), now: t.now}
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

// Order returns the runs in the order in which they start: the due ones, and then the others by their start. Order changes neither the
// runs nor the virtual time.
func Order(runs []Run, virtual *VirtualTime, now time.Time) []Run {
	var due, later []Run
	weighted := false
	for _, run := range runs {
		if run.Start.After(now) {
			later = append(later, run)
			continue
		}
		due = append(due, run)
		weighted = weighted || run.Weight > 0
	}
	slices.SortFunc(due, compare)
	if weighted {
		due = byWeight(due, virtual)
	}
	slices.SortFunc(later, compareStarts)
	return append(due, later...)
}

// byWeight merges the runs of deployments, which come in the order of their ranks, by virtual time. Of equal virtual time, the first rank
// comes first.
func byWeight(due []Run, virtual *VirtualTime) []Run {
	waiting := map[string][]Run{}
	var deployments []string
	for _, run := range due {
		if waiting[run.Deployment] == nil {
			deployments = append(deployments, run.Deployment)
		}
		waiting[run.Deployment] = append(waiting[run.Deployment], run)
	}
	var queue fair.Queue[[]Run]
	for _, deployment := range deployments {
		queue.Push(waiting[deployment], virtual.timeOf(deployment))
	}
	ordered := make([]Run, 0, len(due))
	for queue.Len() > 0 {
		first := queue.First()
		queue.Remove(first)
		ordered = append(ordered, first.Value[0])
		if rest := first.Value[1:]; len(rest) > 0 {
			queue.Push(rest, first.Finish+first.Value[0].cost())
		}
	}
	return ordered
}

// compare orders due runs by rank.
func compare(a, b Run) int { return cmp.Or(a.Rank.Compare(b.Rank), compareStarts(a, b)) }

func compareStarts(a, b Run) int { return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.ID, b.ID)) }
