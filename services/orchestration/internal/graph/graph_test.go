package graph

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// A graph that nobody could look at is refused; what has ended does not count where it is not shown, and artifacts
// beyond the bound are left out.
func TestGraphsAreBounded(t *testing.T) {
	t.Parallel()
	st := storetest.New(t, clock.System{})
	s := New(st, func(context.Context, uuid.UUID, uuid.UUID) (*orchv1.StateList, error) {
		return &orchv1.StateList{}, nil
	})
	s.maxNodes, s.maxArtifacts = 3, 2

	ws, noon := request.DefaultWorkspace, time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	run := &orchv1.FlowRun{Id: uuid.NewString(), FlowId: uuid.NewString(), ExpectedStartTime: timestamppb.New(noon)}
	require.NoError(t, s.runs.Insert(t.Context(), ws, run))
	task := func(key string, ended *timestamppb.Timestamp) {
		require.NoError(t, s.tasks.Insert(t.Context(), ws, &orchv1.TaskRun{
			Id: uuid.NewString(), FlowRunId: &run.Id, TaskKey: "t", DynamicKey: key, ExpectedStartTime: timestamppb.New(noon), EndTime: ended,
			State: &orchv1.State{Id: uuid.NewString(), Type: orchv1.StateType_STATE_TYPE_RUNNING, StateDetails: &orchv1.StateDetails{}, Timestamp: timestamppb.New(noon)},
		}))
		require.NoError(t, s.artifacts.Insert(t.Context(), ws, &orchv1.Artifact{Id: uuid.NewString(), FlowRunId: &run.Id}))
	}
	for _, key := range []string{"1", "2", "3"} {
		task(key, nil)
	}
	ctx := func() context.Context {
		return request.Outgoing(t.Context(), request.Info{Account: request.DefaultAccount, Workspace: ws})
	}
	ask := func(since time.Time) (*orchv1.Graph, error) {
		local := rpc.NewLocal()
		orchv1.RegisterFlowRunGraphServiceServer(local, s)
		response, _, err := local.Call(ctx(), orchv1.FlowRunGraphService_ReadFlowRunGraphV2_FullMethodName,
			&orchv1.ReadFlowRunGraphV2Request{Id: run.GetId(), Since: timestamppb.New(since)})
		graph, _ := response.(*orchv1.Graph)
		return graph, err
	}
	graph, err := ask(time.Time{})
	require.NoError(t, err)
	require.Len(t, graph.GetNodes(), 3)
	require.Len(t, graph.GetArtifacts(), 2)
	require.Equal(t, noon, graph.GetStartTime().AsTime())

	task("4", timestamppb.New(noon.Add(time.Second)))
	_, err = ask(time.Time{})
	require.Equal(t, int32(400), rpc.HTTPError(err).GetStatus())
	require.Contains(t, rpc.HTTPError(err).GetDetail(), "more than 3 nodes")
	graph, err = ask(noon.Add(time.Minute))
	require.NoError(t, err)
	require.Len(t, graph.GetNodes(), 3)
}

// A subflow stands in the place of its task run, and takes what it does not say itself from it.
func TestSubflowsStandForTheirTaskRuns(t *testing.T) {
	t.Parallel()
	at := func(s int64) *timestamppb.Timestamp { return &timestamppb.Timestamp{Seconds: s} }
	state := func(kind orchv1.StateType) *orchv1.State { return &orchv1.State{Type: kind} }
	task := &orchv1.TaskRun{Id: "task", Name: "t", ExpectedStartTime: at(1), StartTime: at(2), State: state(orchv1.StateType_STATE_TYPE_COMPLETED)}
	require.Equal(t, at(1), drawTask(task, nil)[0].node.GetEndTime(), "it ended, nobody knows when")
	task.EndTime = at(9)
	require.Equal(t, at(9), drawTask(task, nil)[0].node.GetEndTime())
	drawn := drawTask(task, []subflow{
		{&orchv1.FlowRun{Id: "a", Name: "one", StartTime: at(3), EndTime: at(4), State: state(orchv1.StateType_STATE_TYPE_FAILED)}, "f"},
		{&orchv1.FlowRun{Id: "b", Name: "two"}, "f"},
	})
	require.Len(t, drawn, 2)
	require.Equal(t, []*timestamppb.Timestamp{at(3), at(4)}, []*timestamppb.Timestamp{drawn[0].node.GetStartTime(), drawn[0].node.GetEndTime()})
	require.Equal(t, orchv1.StateType_STATE_TYPE_FAILED, drawn[0].node.GetStateType())
	require.Equal(t, []*timestamppb.Timestamp{at(2), at(9)}, []*timestamppb.Timestamp{drawn[1].node.GetStartTime(), drawn[1].node.GetEndTime()})
	require.Equal(t, orchv1.StateType_STATE_TYPE_COMPLETED, drawn[1].node.GetStateType())
	require.Equal(t, "f / two", drawn[1].node.GetLabel())
	require.Empty(t, drawTask(&orchv1.TaskRun{Id: "task", State: state(orchv1.StateType_STATE_TYPE_PENDING)}, nil), "nobody knows when it starts")
	require.Empty(t, drawTask(&orchv1.TaskRun{Id: "task", StartTime: at(1)}, nil), "it has no state")
}
