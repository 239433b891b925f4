package orchestration_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestChartsOfRuns(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow := d.flow("etl")
	run, idle := d.run(flow), d.run(flow)
	d.setState(run, running)
	for _, key := range []string{"1", "2"} {
		call[*orchv1.TaskRun](d, orchv1.TaskRunService_CreateTaskRun_FullMethodName, &orchv1.CreateTaskRunRequest{
			TaskRun: &orchv1.TaskRunCreate{FlowRunId: new(run.GetId()), TaskKey: "t", DynamicKey: key},
		})
	}
	standIn := call[*orchv1.TaskRun](d, orchv1.TaskRunService_CreateTaskRun_FullMethodName, &orchv1.CreateTaskRunRequest{
		TaskRun: &orchv1.TaskRunCreate{FlowRunId: new(run.GetId()), TaskKey: "subflow", DynamicKey: "1"},
	})
	call[*orchv1.FlowRun](d, orchv1.FlowRunService_CreateFlowRun_FullMethodName, &orchv1.CreateFlowRunRequest{
		FlowRun: &orchv1.FlowRunCreate{FlowId: flow.GetId(), ParentTaskRunId: new(standIn.GetId())},
	})
	unknown := uuid.NewString()
	counts := call[*orchv1.CountsById](d, orchv1.UiFlowService_CountTaskRunsByFlowRun_FullMethodName, &orchv1.CountTaskRunsByFlowRunRequest{
		Query: &orchv1.FlowRunTaskRunCountQuery{FlowRunIds: []string{run.GetId(), idle.GetId(), unknown}},
	}).GetCounts()
	require.Equal(t, map[string]int64{run.GetId(): 2, idle.GetId(): 0, unknown: 0}, counts)
	counts = call[*orchv1.CountsById](d, orchv1.UiFlowService_CountDeploymentsByFlow_FullMethodName, &orchv1.CountDeploymentsByFlowRequest{
		Query: &orchv1.FlowDeploymentCountQuery{FlowIds: []string{flow.GetId()}},
	}).GetCounts()
	require.Equal(t, map[string]int64{flow.GetId(): 0}, counts)

	points := call[*orchv1.SimpleFlowRunList](d, orchv1.UiFlowService_ReadSimpleFlowRuns_FullMethodName, &orchv1.ReadSimpleFlowRunsRequest{
		Query: &orchv1.SimpleFlowRunQuery{Limit: 1000, FlowRuns: &orchv1.FlowRunFilter{Id: &orchv1.UuidFilter{Any_: &orchv1.UuidList{Values: []string{run.GetId()}}}}},
	}).GetRuns()
	require.Len(t, points, 1)
	require.Equal(t, running, points[0].GetStateType())
	require.NotNil(t, points[0].Timestamp)
}

// TestScatterOfRuns reads the scatter by the entries of an index, and by documents where a filter needs them. Both agree.
func TestScatterOfRuns(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flow, other := d.flow("etl"), d.flow("other")
	active, ended, foreign := d.run(flow), d.run(flow), d.run(other)
	d.setState(active, running)
	d.setState(ended, running)
	d.setState(ended, completed)
	now := time.Now()
	read := func(q *orchv1.FlowRunScatterQuery) *orchv1.FlowRunScatter {
		q.Start, q.End, q.Columns, q.Rows = timestamppb.New(now.Add(-time.Hour)), timestamppb.New(now.Add(time.Hour)), 100, 40
		return call[*orchv1.FlowRunScatter](d, orchv1.UiFlowService_ReadFlowRunScatter_FullMethodName, &orchv1.ReadFlowRunScatterRequest{Query: q})
	}
	states := func(s *orchv1.FlowRunScatter) map[orchv1.StateType][]string {
		byState := map[orchv1.StateType][]string{}
		for _, c := range s.GetCells() {
			require.InDelta(t, 50, c.GetColumn(), 1)
			byState[c.GetStateType()] = append(byState[c.GetStateType()], c.GetFlowRunIds()...)
		}
		return byState
	}
	all := read(&orchv1.FlowRunScatterQuery{})
	require.EqualValues(t, 3, all.GetCount())
	require.Equal(t, map[orchv1.StateType][]string{
		running: {active.GetId()}, completed: {ended.GetId()}, pending: {foreign.GetId()},
	}, states(all))
	ofFlow := read(&orchv1.FlowRunScatterQuery{Flows: &orchv1.FlowFilter{Id: &orchv1.UuidFilter{Any_: &orchv1.UuidList{Values: []string{flow.GetId()}}}}})
	require.Equal(t, map[orchv1.StateType][]string{running: {active.GetId()}, completed: {ended.GetId()}}, states(ofFlow))
	require.Empty(t, read(&orchv1.FlowRunScatterQuery{FlowRuns: &orchv1.FlowRunFilter{Name: &orchv1.NameFilter{Any_: &orchv1.StringList{Values: []string{"none"}}}}}).GetCells())
	_, _, err := try[*orchv1.FlowRunScatter](d, orchv1.UiFlowService_ReadFlowRunScatter_FullMethodName, &orchv1.ReadFlowRunScatterRequest{
		Query: &orchv1.FlowRunScatterQuery{Start: timestamppb.New(now), End: timestamppb.New(now)},
	})
	code, _ := status(err)
	require.Equal(t, 422, code)
}
