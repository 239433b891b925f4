package rules_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/runorder"
)

// The workers of the simulated queue: how many runs they execute at once, how long a run takes, and when none of them polls.
const (
	simulatedSlots = 4
	simulatedRun   = 4 * time.Minute
	simulatedPoll  = 5 * time.Second
	simulatedSweep = time.Minute
	outageBegins   = 6 * time.Hour
	outage         = 2 * time.Hour
)

// simulatedQueue is a queue whose runs are decided by the rules and ordered by package runorder, without a store.
type simulatedQueue struct {
	began    time.Time
	settings runorder.Settings

	mu      sync.Mutex
	waiting map[string]*orchv1.FlowRun
	order   []runorder.Run
	virtual runorder.VirtualTime
	// created, started and skipped are numbers of runs, and longest is the longest delay of a start, by deployment.
	created, started, skipped map[string]int
	longest                   map[string]time.Duration
}

// pass waits in the time of the synctest bubble.
func pass(d time.Duration) { <-time.After(d) }

func label(n int64) *orchv1.Scalar { return &orchv1.Scalar{Kind: &orchv1.Scalar_Integer{Integer: n}} }

// arrive creates a run that is due at a time.
func (q *simulatedQueue) arrive(deployment string, due time.Time, labels map[string]*orchv1.Scalar) {
	q.mu.Lock()
	defer q.mu.Unlock()
	run := &orchv1.FlowRun{Id: uuid.NewString(), DeploymentId: &deployment, Labels: labels}
	run.Priority, run.Weight = new(q.settings.Priority(labels, nil)), new(q.settings.Weight(labels, nil))
	if limit := q.settings.LatenessLimit(labels, nil); limit > 0 {
		run.LatenessLimit = &limit
	}
	t := rules.Propose(run, &orchv1.StateCreate{Type: scheduled, StateDetails: rules.NewDetails(timestamppb.New(due))}, time.Now(), uuid.New)
	rules.MinimalFlowPolicy.Judge(t)
	q.waiting[t.Run.GetId()] = t.Run
	q.order = append(q.order, runorder.Waiting(t.Run))
	q.created[deployment]++
}

// schedule creates a run at each interval of the day.
func (q *simulatedQueue) schedule(deployment string, every time.Duration, labels map[string]*orchv1.Scalar) {
	for time.Since(q.began) < 24*time.Hour {
		q.arrive(deployment, time.Now(), labels)
		pass(every)
	}
}

// claim proposes PENDING to the first waiting run, as a worker does, and reports whether the worker executes it.
func (q *simulatedQueue) claim() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	ordered := runorder.Order(q.order, &q.virtual, now)
	if len(ordered) == 0 {
		return false
	}
	first := ordered[0]
	t := rules.Propose(q.waiting[first.ID], propose(pending), now, uuid.New)
	rules.CoreFlowPolicy.Judge(t)
	q.remove(first.ID)
	if t.Run.GetState().GetType() != pending {
		q.skipped[first.Deployment]++
		return false
	}
	q.virtual.Started(first)
	q.started[first.Deployment]++
	q.longest[first.Deployment] = max(q.longest[first.Deployment], now.Sub(first.Start))
	return true
}

// remove removes a run that waits no longer.
func (q *simulatedQueue) remove(id string) {
	delete(q.waiting, id)
	q.order = slices.DeleteFunc(q.order, func(run runorder.Run) bool { return run.ID == id })
}

// work executes runs for a day, except during the outage.
func (q *simulatedQueue) work() {
	for time.Since(q.began) < 24*time.Hour {
		switch since := time.Since(q.began); {
		case since >= outageBegins && since < outageBegins+outage:
			pass(outageBegins + outage - since)
		case q.claim():
			pass(simulatedRun)
		default:
			pass(simulatedPoll)
		}
	}
}

// sweep skips late runs, as the server does.
func (q *simulatedQueue) sweep() {
	for ; time.Since(q.began) < 24*time.Hour; pass(simulatedSweep) {
		q.mu.Lock()
		for id, run := range q.waiting {
			if rules.Skipped(run, time.Now()) != nil {
				q.skipped[run.GetDeploymentId()]++
				q.remove(id)
			}
		}
		q.mu.Unlock()
	}
}

// A day of a queue that has more runs than it can execute, and no workers for two hours: a deployment with an old backlog, one of weight
// 3, one whose runs have the highest priority, one that has a run each hour, and two that skip late runs. Nobody starves, starts follow
// the weights, no run starts after its deadline, and each run is started or skipped once, or waits.
func TestADayOfPrioritiesWeightsAndLateness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &simulatedQueue{
			began: time.Now(), waiting: map[string]*orchv1.FlowRun{}, settings: runorder.NewSettings(vocabulary.Orch),
			created: map[string]int{}, started: map[string]int{}, skipped: map[string]int{}, longest: map[string]time.Duration{},
		}
		for range 260 {
			q.arrive("backlog", q.began.Add(-time.Hour), nil)
		}
		var group sync.WaitGroup
		group.Go(func() { q.schedule("weighted", 90*time.Second, map[string]*orchv1.Scalar{"orch.weight": label(3)}) })
		group.Go(func() {
			q.schedule("urgent", 8*time.Minute, map[string]*orchv1.Scalar{"orch.priority": label(runorder.MaxPriority)})
		})
		group.Go(func() { q.schedule("hourly", time.Hour, nil) })
		group.Go(func() { q.schedule("fresh", 2*time.Minute, map[string]*orchv1.Scalar{"orch.lateness": label(600)}) })
		group.Go(func() { q.schedule("hourly-fresh", time.Hour, map[string]*orchv1.Scalar{"orch.lateness": label(1800)}) })
		for range simulatedSlots {
			group.Go(q.work)
		}
		group.Go(q.sweep)
		group.Wait()

		t.Logf("started %v, skipped %v, longest delays %v", q.started, q.skipped, q.longest)
		require.LessOrEqual(t, q.longest["urgent"], outage+2*simulatedRun)
		require.LessOrEqual(t, q.longest["hourly"], outage+5*simulatedRun)
		require.InEpsilon(t, 3, float64(q.started["weighted"])/float64(q.started["backlog"]), 0.05)
		require.Greater(t, q.started["backlog"], 180)

		require.Less(t, q.longest["fresh"], 600*time.Second)
		require.Less(t, q.longest["hourly-fresh"], 1800*time.Second)
		require.Greater(t, q.started["fresh"], 180, "runs that are skipped do not keep the others from starting")
		require.Equal(t, int(outage/time.Hour), q.skipped["hourly-fresh"], "the runs of the outage")
		waiting := map[string]int{}
		for _, run := range q.waiting {
			waiting[run.GetDeploymentId()]++
		}
		for deployment, created := range q.created {
			require.Equal(t, created, q.started[deployment]+q.skipped[deployment]+waiting[deployment], deployment)
			if q.skipped[deployment] > 0 {
				require.Contains(t, []string{"fresh", "hourly-fresh"}, deployment)
			}
		}
	})
}
