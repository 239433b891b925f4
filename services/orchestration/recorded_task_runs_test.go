package orchestration_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration"
)

// The events are those that the Python SDK sends for a task that is retried, in the words of existing clients.
func TestTaskRunsAreMadeOfTheEventsOfClients(t *testing.T) {
	t.Parallel()
	d := newDomain(t, func(c *orchestration.Config) { c.Vocabulary = vocabulary.Prefect })
	v := vocabulary.Prefect
	flowRun := d.runningFlow("f")
	id, before := uuid.NewString(), uuid.NewString()
	start := time.Now().UTC().Truncate(time.Microsecond)
	event := func(after time.Duration, kind, name, message, more string) *orchv1.Event {
		return &orchv1.Event{
			Id: uuid.NewString(), Event: v.Name("task-run", name), Occurred: timestamppb.New(start.Add(after)),
			Resource: &orchv1.Resource{Labels: map[string]string{
				v.ResourceID(): v.Name("task-run", id), v.ResourceName(): "flaky-305", v.Name("orchestration"): "client",
			}},
			Related: []*orchv1.RelatedResource{
				{Labels: map[string]string{v.ResourceID(): v.Name("tag", "t1"), v.ResourceRole(): "tag"}},
				{Labels: map[string]string{v.ResourceID(): v.Name("flow-run", flowRun.GetId()), v.ResourceRole(): "flow-run"}},
			},
			Payload: fmt.Appendf(nil, `{"intended": {"from": null, "to": %[1]q}, "initial_state": null,
				"validated_state": {"type": %[1]q, "name": %[2]q, "message": %[3]q, "state_details": {"retriable": true}, "data": {"storage_key": "TMP"}},
				"task_run": {"name": "flaky-305", "task_key": "flaky-2277cfb8", "dynamic_key": "305ae43d",
					"empirical_policy": {"max_retries": 0, "retry_delay_seconds": 0.0, "retries": 2, "retry_delay": 0.2}, "tags": ["t1"], "labels": {"a": 1},
					"task_inputs": {"x": [{"input_type": "task_run", "id": %[4]q}]}, "cache_key": "k", "flow_run_run_count": 1,
					"expected_start_time": %[5]q%[6]s}}`,
				kind, name, message, before, start.Format(time.RFC3339Nano), more),
		}
	}
	at := func(after time.Duration) string { return start.Add(after).Format(time.RFC3339Nano) }
	pending := event(0, "PENDING", "Pending", "", `, "run_count": 0, "total_run_time": 0.0`)
	running := event(time.Second, "RUNNING", "Running", "", `, "run_count": 1, "total_run_time": 0.0, "start_time": "`+at(time.Second)+`"`)
	waiting := event(2*time.Second, "SCHEDULED", "AwaitingRetry", "boom", `, "run_count": 1, "total_run_time": 1.0, "start_time": "`+at(time.Second)+`"`)
	completed := event(3*time.Second, "COMPLETED", "Completed", "done", `, "run_count": 2, "total_run_time": 1.5, "start_time": "`+at(time.Second)+`", "end_time": "`+at(3*time.Second)+`"`)
	for _, batch := range [][]*orchv1.Event{{completed, pending}, {running, completed, running}, {pending, waiting}} {
		call[*emptypb.Empty](d, orchv1.EventService_CreateEvents_FullMethodName, &orchv1.CreateEventsRequest{Events: batch})
	}
	eventually(t, func() bool {
		run, _, err := try[*orchv1.TaskRun](d, orchv1.TaskRunService_ReadTaskRun_FullMethodName, &orchv1.ReadTaskRunRequest{Id: id})
		return err == nil && run.GetStateId() == completed.GetId() && len(d.taskStates(id)) == 4
	}, "the run and its states are recorded")

	run := d.readTask(id)
	require.Equal(t, "flaky-305", run.GetName())
	require.Equal(t, flowRun.GetId(), run.GetFlowRunId())
	require.Equal(t, []any{"flaky-2277cfb8", "305ae43d", "k"}, []any{run.GetTaskKey(), run.GetDynamicKey(), run.GetCacheKey()})
	require.Equal(t, []string{"t1"}, run.GetTags())
	require.Equal(t, int64(1), run.GetLabels().GetValues()["a"].GetInteger())
	require.Equal(t, before, run.GetTaskInputs()["x"].GetValues()[0].GetTaskRun().GetId())
	require.Equal(t, int64(2), run.GetEmpiricalPolicy().GetRetries())
	require.InDelta(t, 0.2, run.GetEmpiricalPolicy().GetRetryDelay().GetNumber(), 0)
	require.Equal(t, []int64{2, 1}, []int64{run.GetRunCount(), run.GetFlowRunRunCount()})
	require.InDelta(t, 1.5, run.GetEstimatedRunTime(), 0)
	require.Equal(t, start.Add(time.Second), run.GetStartTime().AsTime())
	require.Equal(t, start.Add(3*time.Second), run.GetEndTime().AsTime())
	require.Equal(t, start, run.GetExpectedStartTime().AsTime())
	require.Equal(t, completed.GetId(), run.GetStateId())
	require.Equal(t, stCompleted, run.GetStateType())
	require.JSONEq(t, `{"storage_key": "TMP"}`, string(run.GetState().GetData()))

	var names []string
	for _, state := range d.taskStates(id) {
		names = append(names, state.GetName())
		require.Equal(t, id, state.GetStateDetails().GetTaskRunId())
		require.Equal(t, flowRun.GetId(), state.GetStateDetails().GetFlowRunId())
		require.True(t, state.GetStateDetails().GetRetriable())
	}
	require.Equal(t, []string{"Pending", "Running", "AwaitingRetry", "Completed"}, names)

	// It is found as any other: by its flow run, by its flow.
	for _, q := range []*orchv1.TaskRunQuery{
		{FlowRuns: &orchv1.FlowRunFilter{Id: &orchv1.UuidFilter{Any_: &orchv1.UuidList{Values: []string{flowRun.GetId()}}}}},
		{Flows: &orchv1.FlowFilter{Name: &orchv1.NameFilter{Any_: &orchv1.StringList{Values: []string{"f"}}}}},
	} {
		found := call[*orchv1.TaskRunList](d, orchv1.TaskRunService_ReadTaskRuns_FullMethodName, &orchv1.ReadTaskRunsRequest{Query: q})
		require.Len(t, found.GetTaskRuns(), 1)
		require.Equal(t, id, found.GetTaskRuns()[0].GetId())
	}
}
