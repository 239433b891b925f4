package orchestration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// A run without heartbeats is lost with all that its process executed, and its slot is free. A subflow with a process of its own goes on.
func TestALostRunTakesItsChildrenAndFreesItsSlot(t *testing.T) {
	t.Parallel()
	const stateCrashed = orchv1.StateType_STATE_TYPE_CRASHED
	d := newDomain(t)
	newRun := d.limited(1, orchv1.ConcurrencyLimitStrategy_CONCURRENCY_LIMIT_STRATEGY_ENQUEUE)
	run, next := newRun(), newRun()
	d.proposeAs(newClient, run, statePending)
	d.proposeAs(newClient, run, stateRunning)
	started := func(flowRun *orchv1.FlowRun, key string) *orchv1.TaskRun {
		task := d.task(flowRun, key)
		d.setTask(task, to(stateRunning))
		return task
	}
	subflow := func(parent *orchv1.TaskRun, edits ...func(*orchv1.FlowRunCreate)) *orchv1.FlowRun {
		child := d.run(d.flow("child"), append(edits, func(c *orchv1.FlowRunCreate) { c.ParentTaskRunId = &parent.Id })...)
		d.setState(child, stateRunning)
		return child
	}
	task, ended := started(run, "a"), started(run, "b")
	d.setTask(ended, to(stateCompleted))
	child := subflow(started(run, "child"))
	childTask := started(child, "a")
	grandchild := subflow(started(child, "grandchild"))
	deployment := d.deployment(d.flow("child"))
	own := subflow(started(run, "own"), func(c *orchv1.FlowRunCreate) { c.DeploymentId = &deployment.Id })

	d.emit("orch.flow-run.heartbeat", "orch.flow-run."+run.GetId())
	d.eventually("orch.flow-run.heartbeat", 1)
	elapsed := time.Duration(0)
	monitor := d.service.RunMonitor(time.Minute, func() time.Duration { return elapsed })
	lost := 0
	for range 12 {
		n, err := monitor.Pass(t.Context())
		require.NoError(t, err)
		lost += n
		elapsed += time.Minute
	}
	require.Equal(t, 1, lost)
	require.Equal(t, stateCrashed, d.readRun(run.GetId()).GetState().GetType())
	require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT, d.proposeAs(newClient, next, statePending).GetStatus(), "the slot is free")
	eventually(t, func() bool {
		return d.readTask(task.GetId()).GetState().GetType() == stateCrashed &&
			d.readRun(child.GetId()).GetState().GetType() == stateCrashed &&
			d.readTask(childTask.GetId()).GetState().GetType() == stateCrashed &&
			d.readRun(grandchild.GetId()).GetState().GetType() == stateCrashed
	}, "what its process executed is lost too")
	require.Equal(t, stateCompleted, d.readTask(ended.GetId()).GetState().GetType())
	require.Equal(t, stateRunning, d.readRun(own.GetId()).GetState().GetType())

	require.Equal(t, orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT, d.proposeAs(newClient, run, stateCompleted).GetStatus(), "its process ended after all")
}
