package flowruns

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// TestCountsOfTaskRunsLeaveOutSubflows counts few task runs, whose subflows are probed, and many, where all subflows are gathered.
func TestCountsOfTaskRunsLeaveOutSubflows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tasks := store.NewCollection(w.store, query.TaskRun, &orchv1.TaskRun{})
	count := func(runs ...*orchv1.FlowRun) map[string]int64 {
		local, q := rpc.NewLocal(), &orchv1.FlowRunTaskRunCountQuery{}
		orchv1.RegisterUiFlowServiceServer(local, w.service)
		for _, run := range runs {
			q.FlowRunIds = append(q.FlowRunIds, run.GetId())
		}
		response, _, err := local.Call(request.Outgoing(t.Context(), request.Info{Account: request.DefaultAccount, Workspace: w.ws}),
			orchv1.UiFlowService_CountTaskRunsByFlowRun_FullMethodName, &orchv1.CountTaskRunsByFlowRunRequest{Query: q})
		require.NoError(t, err)
		return response.(*orchv1.CountsById).GetCounts()
	}
	addTasks := func(run *orchv1.FlowRun, n int) (standIn string) {
		var docs []bson.Raw
		for range n {
			task := &orchv1.TaskRun{Id: uuid.NewString(), FlowRunId: new(run.GetId()), TaskKey: "load", DynamicKey: uuid.NewString()}
			doc, err := store.NewDocument(w.ws, task, time.Time{})
			require.NoError(t, err)
			docs, standIn = append(docs, doc), task.GetId()
		}
		require.NoError(t, tasks.InsertNew(t.Context(), docs))
		return standIn
	}
	parent, idle := w.run(), w.run()
	require.Equal(t, map[string]int64{parent.GetId(): 0, idle.GetId(): 0}, count(parent, idle))
	standIn := addTasks(parent, 3)
	w.run(func(r *orchv1.FlowRunCreate) { r.ParentTaskRunId = new(standIn) })
	require.Equal(t, map[string]int64{parent.GetId(): 2, idle.GetId(): 0}, count(parent, idle))
	addTasks(parent, maxProbed)
	require.Equal(t, map[string]int64{parent.GetId(): 2 + maxProbed, idle.GetId(): 0}, count(parent, idle))
}
