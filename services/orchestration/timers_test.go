package orchestration_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration"
)

// The workers are wired: what time makes of runs is found by the running service.
func TestTimersRun(t *testing.T) {
	t.Parallel()
	d := newDomain(t, func(c *orchestration.Config) {
		c.Timers = orchestration.Timers{PauseExpirations: time.Millisecond, LateRuns: time.Millisecond, CancellationCleanup: time.Millisecond}
	})
	flow := d.flow("etl")
	late := d.run(flow, func(c *orchv1.FlowRunCreate) {
		c.State = &orchv1.StateCreate{Type: scheduled, StateDetails: &orchv1.StateDetails{ScheduledTime: timestamppb.New(time.Now().Add(-time.Minute))}}
	})
	expired := d.run(flow)
	d.setState(expired, running)
	d.propose(expired, &orchv1.StateCreate{Type: paused, StateDetails: &orchv1.StateDetails{PauseTimeout: timestamppb.Now()}})
	stopped := d.run(flow)
	d.setState(stopped, running)
	task := call[*orchv1.TaskRun](d, orchv1.TaskRunService_CreateTaskRun_FullMethodName, &orchv1.CreateTaskRunRequest{
		TaskRun: &orchv1.TaskRunCreate{FlowRunId: new(stopped.GetId()), TaskKey: "t", DynamicKey: "1"},
	})
	d.setState(stopped, orchv1.StateType_STATE_TYPE_CANCELLED)
	eventually(t, func() bool { return d.readRun(late.GetId()).GetStateName() == "Late" }, "a late run")
	eventually(t, func() bool { return d.readRun(expired.GetId()).GetStateName() == "Failed" }, "a pause that is over")
	eventually(t, func() bool {
		read := call[*orchv1.TaskRun](d, orchv1.TaskRunService_ReadTaskRun_FullMethodName, &orchv1.ReadTaskRunRequest{Id: task.GetId()})
		return read.GetState().GetName() == "Cancelled"
	}, "a task run of a cancelled run")
	cfg := orchestration.Config{MongoDBDatabase: "orch", Timers: orchestration.Timers{LateRuns: -1}}
	require.ErrorContains(t, cfg.Validate(), "must not be negative")
}
