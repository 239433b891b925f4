package orchestration_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

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
	unknown := uuid.NewString()
	counts := call[*orchv1.CountsById](d, orchv1.UiFlowService_CountTaskRunsByFlowRun_FullMethodName, &orchv1.CountTaskRunsByFlowRunRequest{
		Query: &orchv1.FlowRunTaskRunCountQuery{FlowRunIds: []string{run.GetId(), idle.GetId(), unknown}},
	}).GetCounts()
	require.Equal(t, map[string]int64{run.GetId(): 2, idle.GetId(): 0, unknown: 0}, counts)
	counts = call[*orchv1.CountsById](d, orchv1.UiFlowService_CountDeploymentsByFlow_FullMethodName, &orchv1.CountDeploymentsByFlowRequest{
		Query: &orchv1.FlowDeploymentCountQuery{FlowIds: []string{flow.GetId()}},
	}).GetCounts()
	require.Equal(t, map[string]int64{flow.GetId(): 0}, counts)
	_, _, err := try[*orchv1.CountsById](d, orchv1.UiFlowService_CountDeploymentsByFlow_FullMethodName, &orchv1.CountDeploymentsByFlowRequest{
		Query: &orchv1.FlowDeploymentCountQuery{FlowIds: make([]string, 201)},
	})
	code, _ := status(err)
	require.Equal(t, 422, code)

	points := call[*orchv1.SimpleFlowRunList](d, orchv1.UiFlowService_ReadSimpleFlowRuns_FullMethodName, &orchv1.ReadSimpleFlowRunsRequest{
		Query: &orchv1.SimpleFlowRunQuery{Limit: 1000, FlowRuns: &orchv1.FlowRunFilter{Id: &orchv1.UuidFilter{Any_: &orchv1.UuidList{Values: []string{run.GetId()}}}}},
	}).GetRuns()
	require.Len(t, points, 1)
	require.Equal(t, running, points[0].GetStateType())
	require.NotNil(t, points[0].Timestamp)
}
