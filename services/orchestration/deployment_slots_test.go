package orchestration_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// proposeAs proposes a state as a client that says who it is.
func (d *domain) proposeAs(agent string, run *orchv1.FlowRun, kind orchv1.StateType) *orchv1.OrchestrationResult {
	d.t.Helper()
	return callAs[*orchv1.OrchestrationResult](d.by(agent), d, orchv1.FlowRunService_SetFlowRunState_FullMethodName, &orchv1.SetFlowRunStateRequest{
		Id: run.GetId(), Transition: &orchv1.FlowRunTransition{State: &orchv1.StateCreate{Type: kind}},
	})
}

// by is the context of a call of a client that says who it is.
func (d *domain) by(agent string) context.Context {
	return request.Outgoing(d.t.Context(), request.Info{
		Account: request.DefaultAccount, Workspace: request.DefaultWorkspace, UserAgent: agent,
	})
}

const (
	newClient = "prefect/3.8.8 (API 0.8.4)"
	oldClient = "prefect/3.4.10 (API 0.8.4)"

	stateScheduled = orchv1.StateType_STATE_TYPE_SCHEDULED
	statePending   = orchv1.StateType_STATE_TYPE_PENDING
	stateRunning   = orchv1.StateType_STATE_TYPE_RUNNING
	stateCompleted = orchv1.StateType_STATE_TYPE_COMPLETED
	stateCancelled = orchv1.StateType_STATE_TYPE_CANCELLED
)

// limited is a deployment under a limit with so many slots, and a function that makes runs of it.
func (d *domain) limited(slots int64, strategy orchv1.ConcurrencyLimitStrategy) func() *orchv1.FlowRun {
	d.t.Helper()
	limit := d.limit("of-deployment", slots)
	deployment := d.deployment(d.flow("etl"), func(c *orchv1.DeploymentCreate) {
		c.GlobalConcurrencyLimitId = &limit.Id
		c.ConcurrencyOptions = &orchv1.ConcurrencyOptions{CollisionStrategy: strategy}
	})
	return func() *orchv1.FlowRun {
		d.t.Helper()
		run, _, err := d.tryRun(deployment.GetId(), &orchv1.DeploymentFlowRunCreate{})
		require.NoError(d.t, err)
		return run
	}
}

func (d *domain) slotsTaken() int64 { return d.readLimit("of-deployment").GetActiveSlots() }

func TestDeploymentSlots(t *testing.T) {
	t.Parallel()
	for name, agent := range map[string]string{"a client that renews leases": newClient, "one that does not": oldClient, "one that says nothing": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDomain(t)
			newRun := d.limited(1, orchv1.ConcurrencyLimitStrategy_CONCURRENCY_LIMIT_STRATEGY_ENQUEUE)
			first, second := newRun(), newRun()

			result := d.proposeAs(agent, first, statePending)
			require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT, result.GetStatus())
			lease := result.GetState().GetStateDetails().GetDeploymentConcurrencyLeaseId()
			require.NotEmpty(t, lease)
			require.Equal(t, int64(1), d.slotsTaken())

			result = d.proposeAs(agent, second, statePending)
			require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_REJECT, result.GetStatus())
			require.Equal(t, stateScheduled, result.GetState().GetType())
			require.Equal(t, "AwaitingConcurrencySlot", result.GetState().GetName())

			result = d.proposeAs(agent, first, stateRunning)
			require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT, result.GetStatus())
			if agent == newClient {
				require.NoError(t, d.renew(lease))
			} else {
				eventually(t, func() bool { return d.renew(lease) != nil }, "the lease ends and the slot stays")
			}
			require.Equal(t, int64(1), d.slotsTaken())

			d.proposeAs(agent, first, stateCompleted)
			require.Zero(t, d.slotsTaken(), "the slot is free when the answer is there")
			result = d.proposeAs(agent, second, statePending)
			require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT, result.GetStatus())
			require.Equal(t, int64(1), d.slotsTaken())
		})
	}
}

// waiters returns the number of clients that wait for slots of a limit.
func (d *domain) waiters(limit string) int64 {
	d.t.Helper()
	return call[*orchv1.ConcurrencyLimitSlots](d, orchv1.ConcurrencyLimitV2Service_ReadConcurrencyLimitSlots_FullMethodName,
		&orchv1.ReadConcurrencyLimitSlotsRequest{IdOrName: limit}).GetWaiterCount()
}

// A run that no longer waits for a slot has no position: others get the slot at once.
func TestARunThatStopsWaitingHasNoPosition(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*domain, *orchv1.FlowRun){
		"cancelled":   func(d *domain, run *orchv1.FlowRun) { d.proposeAs(newClient, run, stateCancelled) },
		"rescheduled": func(d *domain, run *orchv1.FlowRun) { d.proposeAs(newClient, run, stateScheduled) },
		"deleted": func(d *domain, run *orchv1.FlowRun) {
			call[*emptypb.Empty](d, orchv1.FlowRunService_DeleteFlowRun_FullMethodName, &orchv1.DeleteFlowRunRequest{Id: run.GetId()})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDomain(t)
			newRun := d.limited(1, orchv1.ConcurrencyLimitStrategy_CONCURRENCY_LIMIT_STRATEGY_ENQUEUE)
			holder, waits, next := newRun(), newRun(), newRun()
			d.proposeAs(newClient, holder, statePending)
			d.proposeAs(newClient, waits, statePending)
			require.EqualValues(t, 1, d.waiters("of-deployment"))
			d.proposeAs(newClient, waits, statePending)
			require.EqualValues(t, 1, d.waiters("of-deployment"))
			stop(d, waits)
			require.Zero(t, d.waiters("of-deployment"))
			d.proposeAs(newClient, holder, stateCancelled)
			require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT, d.proposeAs(newClient, next, statePending).GetStatus())
		})
	}
}

// A run whose lease ran out while it was pending gets another slot, or is cancelled.
func TestDeploymentSlotIsValidatedAtRunning(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	newRun := d.limited(1, orchv1.ConcurrencyLimitStrategy_CONCURRENCY_LIMIT_STRATEGY_ENQUEUE)
	first, second := newRun(), newRun()
	d.endLease(d.proposeAs(newClient, first, statePending).GetState().GetStateDetails().GetDeploymentConcurrencyLeaseId())
	result := d.proposeAs(newClient, first, stateRunning)
	require.Equal(t, stateRunning, result.GetState().GetType())
	require.Equal(t, int64(1), d.slotsTaken(), "another slot")
	d.proposeAs(newClient, first, stFailed) // A failed run may become pending again, a completed one may not.

	lost := d.proposeAs(newClient, first, statePending)
	require.Equal(t, statePending, lost.GetState().GetType())
	d.endLease(lost.GetState().GetStateDetails().GetDeploymentConcurrencyLeaseId())
	require.Equal(t, statePending, d.proposeAs(newClient, second, statePending).GetState().GetType())
	result = d.proposeAs(newClient, first, stateRunning)
	require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_REJECT, result.GetStatus())
	require.Equal(t, stateCancelled, result.GetState().GetType())
	require.Equal(t, int64(1), d.slotsTaken())
}

func TestDeploymentWithoutFreeSlots(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	newRun := d.limited(1, orchv1.ConcurrencyLimitStrategy_CONCURRENCY_LIMIT_STRATEGY_CANCEL_NEW)
	first, second := newRun(), newRun()
	d.proposeAs(newClient, first, statePending)
	result := d.proposeAs(newClient, second, statePending)
	require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_REJECT, result.GetStatus())
	require.Equal(t, stateCancelled, result.GetState().GetType())
	require.Equal(t, "Deployment concurrency limit reached.", result.GetState().GetMessage())

	d = newDomain(t)
	result = d.proposeAs(newClient, d.limited(0, orchv1.ConcurrencyLimitStrategy_CONCURRENCY_LIMIT_STRATEGY_ENQUEUE)(), statePending)
	require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_ABORT, result.GetStatus())
}

func TestDeletedRunGivesItsSlotBack(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	newRun := d.limited(1, orchv1.ConcurrencyLimitStrategy_CONCURRENCY_LIMIT_STRATEGY_CANCEL_NEW)
	first, second := newRun(), newRun()
	d.proposeAs(newClient, first, statePending)
	call[*emptypb.Empty](d, orchv1.FlowRunService_DeleteFlowRun_FullMethodName, &orchv1.DeleteFlowRunRequest{Id: first.GetId()})
	for _, limit := range d.allLimits() {
		require.Zero(t, limit.GetActiveSlots(), "before the deletion is answered")
	}
	require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT, d.proposeAs(newClient, second, statePending).GetStatus())
}

func TestDeploymentOwnLimit(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	deployment := d.deployment(d.flow("etl"), func(c *orchv1.DeploymentCreate) { c.ConcurrencyLimit = new(int64(2)) })
	shown := d.readDeployment(deployment.GetId()).GetGlobalConcurrencyLimit()
	require.Equal(t, "deployment:"+deployment.GetId(), shown.GetName())
	require.Equal(t, int64(2), shown.GetLimit())
	require.NoError(t, d.tryUpdateDeployment(deployment.GetId(), &orchv1.DeploymentUpdate{ConcurrencyLimit: new(int64(3))}))
	require.Equal(t, int64(3), d.readLimit(shown.GetId()).GetLimit())
	require.NoError(t, d.tryUpdateDeployment(deployment.GetId(), &orchv1.DeploymentUpdate{}, "concurrency_limit"))
	require.Nil(t, d.readDeployment(deployment.GetId()).GetGlobalConcurrencyLimit())
	list := d.allLimits()
	require.Empty(t, list)
}

func (d *domain) allLimits() []*orchv1.DeploymentConcurrencyLimit {
	d.t.Helper()
	return call[*orchv1.GlobalConcurrencyLimitList](d, orchv1.ConcurrencyLimitV2Service_ReadAllConcurrencyLimitsV2_FullMethodName,
		&orchv1.ReadAllConcurrencyLimitsV2Request{}).GetLimits()
}
