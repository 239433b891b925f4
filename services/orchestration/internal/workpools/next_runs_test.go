package workpools

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/runorder"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// deployment stores a deployment with so many slots, of which some are taken; 0 slots are no limit.
func (w *world) deployment(slots, taken int64) string {
	w.Helper()
	d := &orchv1.Deployment{Id: w.store.NewID().String(), Name: w.store.NewID().String(), FlowId: uuid.NewString()}
	if slots > 0 {
		d.ConcurrencySlots = &slots
		limits := store.NewCollection(w.store, query.ConcurrencyLimit, &orchv1.ConcurrencyLimitV2{})
		require.NoError(w, limits.Insert(w.ctx, w.ws, &orchv1.ConcurrencyLimitV2{
			Id: w.store.NewID().String(), Name: "deployment:" + d.GetId(), Active: true, Limit: slots, ActiveSlots: taken, ActiveAt: timestamppb.New(w.clock.Now()),
		}))
	}
	require.NoError(w, store.NewCollection(w.store, query.Deployment, &orchv1.Deployment{}).Insert(w.ctx, w.ws, d))
	return d.GetId()
}

// run returns a scheduled run.
func (w *world) run(queue *orchv1.WorkQueue, deployment, name string, start time.Time, priority int64) *orchv1.FlowRun {
	at := timestamppb.New(start)
	run := &orchv1.FlowRun{
		Id: w.store.NewID().String(), Name: name, FlowId: uuid.NewString(), WorkQueueId: new(queue.GetId()),
		NextScheduledStartTime: at, ExpectedStartTime: at, Priority: &priority,
		State: &orchv1.State{Id: w.store.NewID().String(), Type: orchv1.StateType_STATE_TYPE_SCHEDULED, Timestamp: at},
	}
	if deployment != "" {
		run.DeploymentId = &deployment
	}
	if w.weight > 0 {
		run.Weight = &w.weight
	}
	return run
}

// due stores runs of a deployment that are due since a time, one second apart.
func (w *world) due(queue *orchv1.WorkQueue, deployment, name string, n int, since time.Duration, priority int64) {
	w.Helper()
	runs := make([]*orchv1.FlowRun, n)
	for i := range runs {
		runs[i] = w.run(queue, deployment, fmt.Sprintf("%s-%d", name, i), w.clock.Now().Add(time.Duration(i)*time.Second-since), priority)
	}
	for len(runs) > 0 {
		some := runs[:min(len(runs), 500)]
		w.insert(some)
		runs = runs[len(some):]
	}
}

// Runs that wait for slots hide no others, few or many: neither those of another deployment, nor those without one.
func TestRunsThatWaitForSlotsHideNone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		runs    int
		earlier bool
	}{
		"10 runs": {10, false}, "600 runs": {600, false}, "600 runs of an earlier version": {600, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, n := newWorld(t), test.runs
			w.earlier = test.earlier
			w.pool("p")
			queue := w.queue("p", "q", 1)
			w.due(queue, w.deployment(1, 1), "full", n, time.Hour, 0)
			w.due(queue, w.deployment(3, 1), "limited", n, time.Hour, 0)
			w.due(queue, w.deployment(0, 0), "free", 1, 0, 0)
			w.due(queue, "", "alone", 1, 0, 0)
			polled, err := w.pollBefore("p", w.clock.Now(), 200)
			require.NoError(t, err)
			require.ElementsMatch(t, []string{"limited-0", "limited-1", "free-0", "alone-0"}, polled)
			polled, err = w.pollBefore("p", w.clock.Now(), 1)
			require.NoError(t, err)
			require.Equal(t, []string{"limited-0"}, polled)
		})
	}
}

// Without weights, a queue starts its runs by time, and a priority brings a run forward.
func TestRunsOfAQueueStartByTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pool("p")
	queue := w.queue("p", "q", 1)
	w.due(queue, w.deployment(0, 0), "old", 300, time.Hour, 0)
	w.due(queue, w.deployment(0, 0), "young", 2, time.Second, 0)
	w.due(queue, "", "urgent", 1, 0, 100)
	polled, err := w.pollBefore("p", w.clock.Now(), 200)
	require.NoError(t, err)
	want := []string{"urgent-0"}
	for i := range 199 {
		want = append(want, fmt.Sprintf("old-%d", i))
	}
	require.Equal(t, want, polled)
}

// Without weights, starts before the poll do not change the order, also with more deployments than a poll reads.
func TestStartsDoNotCountWithoutWeights(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pool("p")
	queue := w.queue("p", "q", 1)
	old := w.deployment(0, 0)
	w.due(queue, old, "old", 1, time.Hour, 0)
	for range maxDeployments + 1 {
		w.due(queue, w.deployment(0, 0), "young", 1, time.Minute, 0)
	}
	w.service.RunStarted(&orchv1.FlowRun{WorkQueueId: new(queue.GetId()), DeploymentId: &old})
	polled, err := w.pollBefore("p", w.clock.Now(), 1)
	require.NoError(t, err)
	require.Equal(t, []string{"old-0"}, polled)
}

// Deployments with weights start alternately, a priority comes first, and a deployment whose run has started waits for the others.
func TestDeploymentsOfAQueueStartByWeight(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.weight = 1
	w.pool("p")
	queue := w.queue("p", "q", 1)
	old, young := w.deployment(0, 0), w.deployment(0, 0)
	w.due(queue, old, "old", 300, time.Hour, 0)
	w.due(queue, young, "young", 2, time.Second, 0)
	poll := func(n int64) string {
		polled, err := w.pollBefore("p", w.clock.Now(), n)
		require.NoError(t, err)
		return strings.Join(polled, " ")
	}
	require.Equal(t, "old-0 young-0 old-1 young-1 old-2", poll(5))
	w.service.RunStarted(&orchv1.FlowRun{WorkQueueId: new(queue.GetId()), DeploymentId: &old})
	require.Equal(t, "young-0 old-0", poll(2))
	w.due(queue, old, "urgent", 1, 0, 100)
	require.Equal(t, "young-0 urgent-0", poll(2), "the deployment has had a start")

	agent, err := w.service.ReadWorkQueueRuns(w.ctx, &orchv1.ReadWorkQueueRunsRequest{Id: queue.GetId(), Query: &orchv1.WorkQueueRunsQuery{Limit: &orchv1.PageLimit{Value: 2}}})
	require.NoError(t, err)
	require.Equal(t, "young-0 urgent-0", agent.GetFlowRuns()[0].GetName()+" "+agent.GetFlowRuns()[1].GetName())
}

// A run that was refused a slot is due later, and comes before the younger runs of its deployment then.
func TestARefusedRunKeepsItsRank(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pool("p")
	queue := w.queue("p", "q", 1)
	deployment := w.deployment(0, 0)
	w.due(queue, deployment, "young", 300, time.Minute, 0)
	refused := w.run(queue, deployment, "refused", w.clock.Now(), 0)
	refused.Rank = timestamppb.New(w.clock.Now().Add(-time.Hour))
	w.insert([]*orchv1.FlowRun{refused})
	polled, err := w.pollBefore("p", w.clock.Now(), 2)
	require.NoError(t, err)
	require.Equal(t, []string{"refused", "young-0"}, polled)
}

// The polls of queues and of deployments return what the pure function says about all runs that have slots, few or many.
func TestPollsFollowTheOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pool := w.pool("p")
	rapid.Check(t, func(t *rapid.T) {
		queue := &orchv1.WorkQueue{Id: w.store.NewID().String(), Name: uuid.NewString(), WorkPoolId: new(pool.GetId())}
		weighted := rapid.Bool().Draw(t, "weighted")
		deployments, free, weights := make([]string, 4), map[string]int64{}, map[string]int64{}
		for i := range deployments {
			slots, taken := rapid.Int64Range(0, 5).Draw(t, "slots"), rapid.Int64Range(0, 5).Draw(t, "taken")
			id := w.deployment(slots, taken)
			deployments[i], free[id] = id, math.MaxInt64
			if slots > 0 {
				free[id] = max(0, slots-taken)
			}
			if weighted {
				weights[id] = rapid.Int64Range(0, 3).Draw(t, "weight")
			}
		}
		limit := rapid.Int64Range(1, 10).Draw(t, "limit")
		n := rapid.SampledFrom([]int{0, 20, 60, 150}).Draw(t, "runs")
		var all, due []*orchv1.FlowRun
		seconds := make([]int, n)
		for i := range seconds {
			seconds[i] = 5 - i
		}
		for i, second := range rapid.Permutation(seconds).Draw(t, "starts") {
			id := rapid.SampledFrom(deployments).Draw(t, "deployment")
			start := w.clock.Now().Add(time.Duration(second) * time.Second)
			run := w.run(queue, id, fmt.Sprint(i), start, rapid.Int64Range(0, runorder.MaxPriority).Draw(t, "priority"))
			if weights[id] > 0 {
				run.Weight = new(weights[id])
			}
			all = append(all, run)
			if !start.After(w.clock.Now()) {
				due = append(due, run)
			}
		}
		w.insert(all)
		virtual := &runorder.VirtualTime{}
		want := func() []string {
			considered := all
			if int64(len(due)) > limit+backlog {
				considered = due
			}
			var waiting []runorder.Run
			for _, run := range considered {
				waiting = append(waiting, runorder.Waiting(run))
			}
			names, left := []string{}, maps.Clone(free)
			for _, run := range runorder.Order(waiting, virtual, w.clock.Now()) {
				if left[run.Deployment] > 0 && int64(len(names)) < limit {
					left[run.Deployment]--
					names = append(names, run.ID)
				}
			}
			return names
		}
		ids := func(runs []*orchv1.FlowRun, err error) []string {
			require.NoError(t, err)
			names := []string{}
			for _, run := range runs {
				names = append(names, run.GetId())
			}
			return names
		}
		parsed := make([]uuid.UUID, len(deployments))
		for i, id := range deployments {
			parsed[i] = uuid.MustParse(id)
		}
		before := w.clock.Now().Add(time.Minute)
		require.Equal(t, want(), ids(w.service.NextRunsOf(w.ctx, w.ws, parsed, &before, limit)))
		for range rapid.IntRange(0, 5).Draw(t, "started") {
			run := w.run(queue, rapid.SampledFrom(deployments).Draw(t, "deployment"), "started", w.clock.Now(), 0)
			virtual.Started(runorder.Waiting(run))
			w.service.RunStarted(run)
		}
		require.Equal(t, want(), ids(w.service.nextRuns(w.ctx, w.ws, queue, pollBounds{before: &before}, limit)))
	})
}
