package taskworkers_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/feeds"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
	"github.com/orch-project/orch/services/orchestration/internal/taskworkers"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const key = "etl.load-0123"

var ws = request.DefaultWorkspace

// queue is a service on its own store, with a fixed clock.
type queue struct {
	*testing.T
	*taskworkers.Service
	clock *clock.Manual
	runs  *store.Collection[*orchv1.TaskRun]
	ctx   context.Context

	mu      sync.Mutex
	offered []string
}

func newQueue(t *testing.T) *queue {
	t.Helper()
	now := clock.NewManual(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	s := storetest.New(t, now)
	outgoing, ok := metadata.FromOutgoingContext(request.Outgoing(t.Context(), request.Info{Account: request.DefaultAccount, Workspace: ws}))
	require.True(t, ok)
	q := &queue{
		T: t, clock: now, runs: store.NewCollection(s, query.TaskRun, &orchv1.TaskRun{}), ctx: metadata.NewIncomingContext(t.Context(), outgoing),
	}
	q.Service = taskworkers.New(taskworkers.Deps{
		Store: s,
		Show:  func(run *orchv1.TaskRun) *orchv1.TaskRun { return run },
		Offered: func(_ uuid.UUID, taskKey string) {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.offered = append(q.offered, taskKey)
		},
	})
	return q
}

// wait inserts a run that has waited for that long.
func (q *queue) wait(since time.Duration) string {
	q.Helper()
	run := uuid.NewString()
	require.NoError(q, q.runs.Insert(q.ctx, ws, &orchv1.TaskRun{
		Id: run, TaskKey: key, DynamicKey: run, OfferAt: timestamppb.New(q.clock.Now().Add(-since)),
		State: &orchv1.State{Id: uuid.NewString(), Type: orchv1.StateType_STATE_TYPE_SCHEDULED, Timestamp: timestamppb.New(q.clock.Now())},
	}))
	return run
}

// claim claims a run as a worker does; both results are empty when none waits.
func (q *queue) claim(worker string) (run, claim string) {
	q.Helper()
	answer, err := q.ClaimTaskRun(q.ctx, &orchv1.ClaimTaskRunRequest{Identifier: worker, TaskKeys: []string{key}})
	require.NoError(q, err)
	return answer.GetTaskRun().GetId(), answer.GetClaim()
}

func (q *queue) settle(run, claim string, taken bool) {
	q.Helper()
	_, err := q.SettleTaskRun(q.ctx, &orchv1.SettleTaskRunRequest{Id: run, Claim: claim, Taken: taken})
	require.NoError(q, err)
}

func (q *queue) workers(keys ...string) (names []string) {
	q.Helper()
	list, err := q.ReadTaskWorkers(q.ctx, &orchv1.ReadTaskWorkersRequest{
		Query: &orchv1.TaskWorkerQuery{TaskWorkerFilter: &orchv1.TaskWorkerFilter{TaskKeys: keys}},
	})
	require.NoError(q, err)
	for _, w := range list.GetTaskWorkers() {
		names = append(names, w.GetIdentifier())
	}
	return names
}

func TestRunsAreClaimedInTheOrderOfTheirWaiting(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	second, first := q.wait(time.Second), q.wait(time.Minute)
	q.wait(-time.Second) // It is not due yet.
	for _, want := range []string{first, second, ""} {
		run, _ := q.claim("ada")
		require.Equal(t, want, run)
	}
}

func TestARunHasOneWorker(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	const runs, workers = 6, 4
	for range runs {
		q.wait(time.Second)
	}
	claimed := make(chan string, runs*workers)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range runs {
				answer, err := q.ClaimTaskRun(q.ctx, &orchv1.ClaimTaskRunRequest{Identifier: uuid.NewString(), TaskKeys: []string{key}})
				if err == nil && answer.GetTaskRun() != nil {
					claimed <- answer.GetTaskRun().GetId()
				}
			}
		})
	}
	wg.Wait()
	close(claimed)
	seen := map[string]bool{}
	for run := range claimed {
		require.False(t, seen[run], "%s was claimed twice", run)
		seen[run] = true
	}
	require.Len(t, seen, runs)
}

// A silent worker loses its claim, and its later messages change nothing.
func TestAClaimEnds(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	run := q.wait(time.Second)
	_, old := q.claim("silent")
	q.clock.Advance(feeds.TaskClaim - time.Second)
	again, _ := q.claim("ada")
	require.Empty(t, again)
	q.clock.Advance(time.Second)
	again, claim := q.claim("ada")
	require.Equal(t, run, again)
	require.NotEqual(t, old, claim)
	q.settle(run, old, true)
	q.settle(run, old, false)
	require.Empty(t, q.offered)
	q.settle(run, claim, false)
	require.Equal(t, []string{key}, q.offered)
	again, claim = q.claim("ada")
	require.Equal(t, run, again)
	q.settle(run, claim, true)
	q.clock.Advance(time.Hour)
	again, _ = q.claim("ada")
	require.Empty(t, again)
	q.settle(uuid.NewString(), claim, true) // The run was deleted.
}

// A run that started by itself, or was cancelled, is never offered; a claim causes no visible change.
func TestOnlyWhatWaitsIsClaimed(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	run := uuid.MustParse(q.wait(time.Second))
	before, err := q.runs.Get(q.ctx, ws, run)
	require.NoError(t, err)
	q.clock.Advance(time.Second)
	q.claim("ada")
	after, err := q.runs.Get(q.ctx, ws, run)
	require.NoError(t, err)
	require.Equal(t, before.GetUpdated().AsTime(), after.GetUpdated().AsTime())
	_, err = q.runs.Mutate(q.ctx, ws, run, store.Edit(func(next *orchv1.TaskRun) error {
		next.State.Type = orchv1.StateType_STATE_TYPE_CANCELLED
		return nil
	}, nil))
	require.NoError(t, err)
	q.clock.Advance(feeds.TaskClaim)
	claimed, _ := q.claim("ada")
	require.Empty(t, claimed)
}

func TestWorkersComeAndGo(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	q.claim("bob")
	q.claim("ada")
	require.Equal(t, []string{"ada", "bob"}, q.workers())
	require.Equal(t, []string{"ada", "bob"}, q.workers("another", key))
	require.Empty(t, q.workers("another"))
	_, err := q.LeaveTaskWorker(q.ctx, &orchv1.LeaveTaskWorkerRequest{Identifier: "bob"})
	require.NoError(t, err)
	require.Equal(t, []string{"ada"}, q.workers())
	q.clock.Advance(4 * feeds.TaskPoll)
	require.Empty(t, q.workers(), "its gateway died with it")
	q.claim("ada")
	require.Equal(t, []string{"ada"}, q.workers(), "it is back")
}

// After the clock steps back, only workers that still poll are present.
func TestPresenceFollowsAClockThatStepsBack(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	q.claim("dead")
	q.claim("ada")
	q.clock.Advance(-30 * time.Minute)
	q.claim("ada")
	require.Equal(t, []string{"ada"}, q.workers())
	q.clock.Advance(-time.Hour)
	q.claim("new") // It deletes the records that are an hour away.
	q.clock.Advance(90 * time.Minute)
	require.Empty(t, q.workers())
}
