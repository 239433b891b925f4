package orchestration_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestChartsOfTaskRuns(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flowRun := d.runningFlow("f")
	for key, end := range map[string]orchv1.StateType{"1": stCompleted, "2": stFailed, "3": orchv1.StateType_STATE_TYPE_CRASHED, "4": stRunning} {
		run := d.task(flowRun, key)
		d.setTask(run, to(stRunning))
		d.setTask(run, to(end))
	}
	d.task(flowRun, "5")
	counts := call[*orchv1.CountByState](d, orchv1.UiTaskRunService_ReadTaskRunCountsByState_FullMethodName, &orchv1.ReadTaskRunCountsByStateRequest{})
	require.Equal(t, []int64{1, 1, 1, 1, 1, 0}, []int64{
		counts.GetCompleted(), counts.GetFailed(), counts.GetCrashed(), counts.GetRunning(), counts.GetPending(), counts.GetScheduled(),
	})

	ask := func(span *orchv1.OptionalTimeFilter) (*orchv1.TaskRunOutcomesList, error) {
		got, _, err := try[*orchv1.TaskRunOutcomesList](d, orchv1.UiTaskRunService_ReadDashboardTaskRunCounts_FullMethodName,
			&orchv1.ReadDashboardTaskRunCountsRequest{Query: &orchv1.DashboardTaskRunQuery{TaskRuns: &orchv1.TaskRunFilter{
				StartTime: span, State: &orchv1.TaskRunFilterState{Name: &orchv1.AnyStringFilter{Any_: &orchv1.StringList{Values: []string{"none"}}}},
			}}})
		return got, err
	}
	for _, span := range []*orchv1.OptionalTimeFilter{nil, {}} {
		_, err := ask(span)
		code, detail := status(err)
		require.Equal(t, 422, code)
		require.Equal(t, "task_runs.start_time.after_ is required", detail)
	}
	now := time.Now()
	got, err := ask(&orchv1.OptionalTimeFilter{After_: timestamppb.New(now.Add(-time.Hour))})
	require.NoError(t, err)
	require.Len(t, got.GetStretches(), 20)
	last := got.GetStretches()[19].GetCounts()
	require.Equal(t, map[string]int64{"completed": 1, "failed": 2}, last)
	require.Equal(t, map[string]int64{"completed": 0, "failed": 0}, got.GetStretches()[0].GetCounts())
	got, err = ask(&orchv1.OptionalTimeFilter{After_: timestamppb.New(now.Add(-2 * time.Hour)), Before_: timestamppb.New(now.Add(-time.Hour))})
	require.NoError(t, err)
	require.Zero(t, got.GetStretches()[19].GetCounts()["failed"])
}

func TestTaskRunWithTheNameOfItsFlowRun(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flowRun := d.run(d.flow("f"), func(c *orchv1.FlowRunCreate) { c.Name = "mine" })
	run := d.task(flowRun, "1", taggedWith("x"))
	read := func(id string) (*orchv1.UiTaskRun, error) {
		got, _, err := try[*orchv1.UiTaskRun](d, orchv1.UiTaskRunService_ReadTaskRunWithFlowRunName_FullMethodName, &orchv1.ReadTaskRunWithFlowRunNameRequest{Id: id})
		return got, err
	}
	got, err := read(run.GetId())
	require.NoError(t, err)
	require.Equal(t, "mine", got.GetFlowRunName())
	require.Equal(t, []string{"x"}, got.GetTags())
	require.Equal(t, "Pending", got.GetStateName())
	require.Equal(t, run.GetState().GetId(), got.GetState().GetId())
	got, err = read(d.task(nil, "1").GetId())
	require.NoError(t, err)
	require.Nil(t, got.FlowRunName)
	_, err = read(uuid.NewString())
	code, detail := status(err)
	require.Equal(t, 404, code)
	require.Equal(t, "Task not found", detail)
}

func TestNextRunsOfFlows(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow, idle, now := d.flow("a"), d.flow("b"), time.Now()
	at := func(after time.Duration) *orchv1.FlowRun {
		return d.run(flow, func(c *orchv1.FlowRunCreate) {
			c.State = &orchv1.StateCreate{Type: stScheduled, StateDetails: &orchv1.StateDetails{ScheduledTime: timestamppb.New(now.Add(after))}}
		})
	}
	at(2 * time.Hour)
	first := at(time.Hour)
	at(3 * time.Hour)
	d.setState(d.run(idle), stRunning)
	unknown := uuid.NewString()
	next := call[*orchv1.NextRuns](d, orchv1.UiFlowService_NextRunsByFlow_FullMethodName, &orchv1.NextRunsByFlowRequest{
		Query: &orchv1.FlowNextRunQuery{FlowIds: []string{flow.GetId(), idle.GetId(), unknown}},
	}).GetRuns()
	require.Len(t, next, 3)
	require.Equal(t, first.GetId(), next[flow.GetId()].GetRun().GetId())
	require.Equal(t, "Scheduled", next[flow.GetId()].GetRun().GetStateName())
	require.Nil(t, next[idle.GetId()].Run)
	require.Nil(t, next[unknown].Run)
	require.Empty(t, call[*orchv1.NextRuns](d, orchv1.UiFlowService_NextRunsByFlow_FullMethodName, &orchv1.NextRunsByFlowRequest{}).GetRuns())
}

func TestFormsAreValidated(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	validate := func(schema, values string) (*orchv1.SchemaValuesValidationResponse, error) {
		got, _, err := try[*orchv1.SchemaValuesValidationResponse](d, orchv1.UiSchemaService_ValidateObj_FullMethodName,
			&orchv1.ValidateObjRequest{Subject: &orchv1.SchemaValues{Schema: []byte(schema), Values: []byte(values)}})
		return got, err
	}
	got, err := validate(`{"properties": {"n": {"type": "integer"}}}`, `{"n": 1}`)
	require.NoError(t, err)
	require.True(t, got.GetValid())
	got, err = validate(`{"properties": {"n": {"type": "integer"}}}`, `{"n": "x"}`)
	require.NoError(t, err)
	require.False(t, got.GetValid())
	require.Equal(t, "n", got.GetErrors()[0].GetProperty().GetProperty())
	for _, schema := range []string{`{"type": "no such type"}`, `{"$ref": "http://elsewhere/schema.json"}`} {
		_, err = validate(schema, `{}`)
		code, detail := status(err)
		require.Equal(t, 422, code, schema)
		require.Contains(t, detail, "Invalid schema: ")
	}
}
