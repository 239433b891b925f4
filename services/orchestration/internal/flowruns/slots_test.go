package flowruns

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/concurrency"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/runorder"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// limited stores a deployment under a limit of its own.
func (w *world) limited(slots int64, strategy orchv1.ConcurrencyLimitStrategy) (deployment, limit uuid.UUID) {
	w.Helper()
	deployment, limit = uuid.New(), uuid.New()
	require.NoError(w, w.limits().Insert(w.Context(), w.ws, &orchv1.ConcurrencyLimitV2{
		Id: limit.String(), Name: "deployment:" + deployment.String(), Limit: slots, Active: true,
	}))
	require.NoError(w, store.NewCollection(w.store, query.Deployment, &orchv1.Deployment{}).Insert(w.Context(), w.ws, &orchv1.Deployment{
		Id: deployment.String(), Name: deployment.String(), FlowId: w.flow.GetId(), ConcurrencyLimitId: new(limit.String()),
		ConcurrencyOptions: &orchv1.ConcurrencyOptions{CollisionStrategy: strategy},
	}))
	return deployment, limit
}

func (w *world) limits() *store.Collection[*orchv1.ConcurrencyLimitV2] {
	return store.NewCollection(w.store, query.ConcurrencyLimit, &orchv1.ConcurrencyLimitV2{})
}

func (w *world) taken(limit uuid.UUID) int64 {
	w.Helper()
	stored, err := w.limits().Get(w.Context(), w.ws, limit)
	require.NoError(w, err)
	require.Equal(w, stored.GetActiveSlots(), int64(len(stored.GetHolders())))
	return stored.GetActiveSlots()
}

func (w *world) runOf(deployment uuid.UUID, at time.Time) *orchv1.FlowRun {
	return w.run(func(c *orchv1.FlowRunCreate) {
		c.DeploymentId = new(deployment.String())
		c.State = &orchv1.StateCreate{Type: scheduled, StateDetails: &orchv1.StateDetails{ScheduledTime: timestamppb.New(at)}}
	})
}

// propose proposes a state as a client that renews leases.
func (w *world) propose(run *orchv1.FlowRun, kind orchv1.StateType) (*orchv1.OrchestrationResult, error) {
	return w.proposeAs("prefect/3.8.8 (API 0.8.4)", run, kind)
}

func (w *world) proposeAs(agent string, run *orchv1.FlowRun, kind orchv1.StateType) (*orchv1.OrchestrationResult, error) {
	return w.proposeState(agent, run, &orchv1.StateCreate{Type: kind})
}

func (w *world) proposeState(agent string, run *orchv1.FlowRun, state *orchv1.StateCreate) (*orchv1.OrchestrationResult, error) {
	local := rpc.NewLocal()
	orchv1.RegisterFlowRunServiceServer(local, w.service)
	ctx := request.Outgoing(w.Context(), request.Info{Account: request.DefaultAccount, Workspace: w.ws, UserAgent: agent})
	response, _, err := local.Call(ctx, orchv1.FlowRunService_SetFlowRunState_FullMethodName, &orchv1.SetFlowRunStateRequest{
		Id: run.GetId(), Transition: &orchv1.FlowRunTransition{State: state},
	})
	result, _ := response.(*orchv1.OrchestrationResult)
	return result, err
}

// A run that is late is cancelled where its deployment has no free slot and does not let runs wait; else it is late.
func TestLateRunsOfFullDeploymentsAreCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cancelNew, full := w.limited(1, orchv1.ConcurrencyLimitStrategy_CONCURRENCY_LIMIT_STRATEGY_CANCEL_NEW)
	enqueue, _ := w.limited(0, orchv1.ConcurrencyLimitStrategy_CONCURRENCY_LIMIT_STRATEGY_ENQUEUE)
	first, second := w.runOf(cancelNew, w.clock.Now()), w.runOf(cancelNew, w.clock.Now())
	waits := w.runOf(enqueue, w.clock.Now())
	_, err := w.propose(first, pending)
	require.NoError(t, err)
	require.Equal(t, int64(1), w.taken(full))
	w.clock.Advance(runorder.LateAfter + time.Second)
	_, err = w.service.MarkLate(t.Context())
	require.NoError(t, err)
	require.Equal(t, cancelled, w.state(second).GetType())
	require.Equal(t, nameLate, w.state(waits).GetName())
	require.Equal(t, pending, w.state(first).GetType())

	_, err = w.propose(first, orchv1.StateType_STATE_TYPE_COMPLETED)
	require.NoError(t, err)
	third := w.runOf(cancelNew, w.clock.Now())
	w.clock.Advance(runorder.LateAfter + time.Second)
	_, err = w.service.MarkLate(t.Context())
	require.NoError(t, err)
	require.Equal(t, nameLate, w.state(third).GetName(), "there is a slot")
	require.Zero(t, w.taken(full), "looking takes none")
}

// TestLeasesOfOldClientsEndWithTheResponse: the relay has not executed anything, and the slot stays taken.
func TestLeasesOfOldClientsEndWithTheResponse(t *testing.T) {
	t.Parallel()
	for agent, ended := range map[string]bool{"prefect/3.4.10 (API 0.8.4)": true, "curl/8": true, "prefect/3.4.11 (API 0.8.4)": false} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			deployment, limit := w.limited(1, orchv1.ConcurrencyLimitStrategy_CONCURRENCY_LIMIT_STRATEGY_ENQUEUE)
			run := w.runOf(deployment, w.clock.Now())
			result, err := w.proposeAs(agent, run, pending)
			require.NoError(t, err)
			lease := uuid.MustParse(result.GetState().GetStateDetails().GetDeploymentConcurrencyLeaseId())
			_, err = w.proposeAs(agent, run, orchv1.StateType_STATE_TYPE_RUNNING)
			require.NoError(t, err)
			err = w.service.slots.limits.Renew(t.Context(), w.ws, lease, time.Minute)
			if ended {
				require.ErrorIs(t, err, concurrency.ErrLeaseGone)
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, int64(1), w.taken(limit))
		})
	}
}

// Sixty-four runs of a deployment begin at once, and some of their processes die: never more of them have a slot than
// there are slots, and what the dead held is back after their lease and one look of the repossessor.
func TestDeploymentSlotsSurviveTheDeathOfClients(t *testing.T) {
	t.Parallel()
	const slots, clients = 3, 64
	w := newWorld(t)
	deployment, limit := w.limited(slots, orchv1.ConcurrencyLimitStrategy_CONCURRENCY_LIMIT_STRATEGY_ENQUEUE)
	runs := make([]*orchv1.FlowRun, clients)
	for i := range runs {
		runs[i] = w.runOf(deployment, w.clock.Now())
	}
	var inside, dead atomic.Int64
	client := func(i int) error {
		random := rand.New(rand.NewPCG(uint64(i), 5))
		result, err := w.propose(runs[i], pending)
		if code := rpc.HTTPError(err).GetStatus(); err != nil && code != 503 {
			return err
		}
		if result.GetStatus() != orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT {
			return nil // No slot: it waits.
		}
		if n := inside.Add(1); n > slots {
			t.Errorf("%d runs have one of %d slots", n, slots)
		}
		if dead.Load() < slots-1 && random.IntN(2) == 0 {
			dead.Add(1)
			return nil
		}
		for _, kind := range []orchv1.StateType{running, orchv1.StateType_STATE_TYPE_COMPLETED} {
			if kind != running {
				inside.Add(-1)
			}
			for {
				_, err := w.propose(runs[i], kind)
				if err == nil {
					break
				}
				if rpc.HTTPError(err).GetStatus() != 503 {
					return err
				}
			}
		}
		return nil
	}
	ended := make([]error, clients)
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() { ended[i] = client(i) })
	}
	group.Wait()
	for _, err := range ended {
		require.NoError(t, err)
	}
	require.Equal(t, dead.Load(), w.taken(limit), "what the dead hold is taken")
	w.clock.Advance(gracePeriod - time.Microsecond)
	_, err := w.service.slots.limits.Repossess(t.Context())
	require.NoError(t, err)
	require.Equal(t, dead.Load(), w.taken(limit), "not before the lease is over")
	w.clock.Advance(15 * time.Second)
	freed, err := w.service.slots.limits.Repossess(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, dead.Load(), freed)
	require.Zero(t, w.taken(limit))
}

// ticking is a clock that advances whenever it is read.
type ticking struct{ *clock.Manual }

func (c ticking) Now() time.Time {
	c.Advance(time.Millisecond)
	return c.Manual.Now()
}

// The times of states are the times of their events. A state that is older than its slot would overlap with the run that
// held the slot before, so events would show more holders than slots.
func TestAStateIsYoungerThanItsSlot(t *testing.T) {
	t.Parallel()
	w := newWorldBy(t, func(c *clock.Manual) clock.Clock { return ticking{c} })
	deployment, limit := w.limited(1, orchv1.ConcurrencyLimitStrategy_CONCURRENCY_LIMIT_STRATEGY_ENQUEUE)
	run := w.runOf(deployment, w.clock.Now())
	_, err := w.propose(run, pending)
	require.NoError(t, err)
	stored, err := w.limits().Get(t.Context(), w.ws, limit)
	require.NoError(t, err)
	require.Len(t, stored.GetHolders(), 1)
	require.Greater(t, w.state(run).GetTimestamp().AsTime(), stored.GetHolders()[0].GetSince().AsTime())
}
