package orchestration_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func (d *domain) graph(flowRun *orchv1.FlowRun, since time.Time) *orchv1.Graph {
	d.t.Helper()
	return call[*orchv1.Graph](d, orchv1.FlowRunGraphService_ReadFlowRunGraphV2_FullMethodName,
		&orchv1.ReadFlowRunGraphV2Request{Id: flowRun.GetId(), Since: timestamppb.New(since)})
}

// takes says that a task run took the results of others, or ran inside of them.
func takes(name string, runs ...*orchv1.TaskRun) func(*orchv1.TaskRunCreate) {
	return func(c *orchv1.TaskRunCreate) {
		list := &orchv1.TaskInputList{Values: []*orchv1.TaskInput{{Kind: &orchv1.TaskInput_Constant{Constant: &orchv1.TaskInputConstant{Type: "int"}}}}}
		for _, run := range runs {
			list.Values = append(list.Values, &orchv1.TaskInput{Kind: &orchv1.TaskInput_TaskRun{TaskRun: &orchv1.TaskInputTaskRun{Id: run.GetId()}}})
		}
		if c.TaskInputs == nil {
			c.TaskInputs = map[string]*orchv1.TaskInputList{}
		}
		c.TaskInputs[name] = list
	}
}

func ids(edges []*orchv1.GraphEdge) []string {
	var out []string
	for _, e := range edges {
		out = append(out, e.GetId())
	}
	return out
}

func TestGraphOfAFlowRun(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flowRun := d.runningFlow("etl")
	extract := d.task(flowRun, "1", func(c *orchv1.TaskRunCreate) { c.Name = "extract" })
	left := d.task(flowRun, "2", takes("x", extract))
	right := d.task(flowRun, "3", takes("x", extract, extract), takes("__parents__", left))
	load := d.task(flowRun, "4", takes("a", left), takes("b", right, left), takes("c", &orchv1.TaskRun{Id: uuid.NewString()}))
	stands := d.task(flowRun, "5", takes("x", load))
	child := d.run(d.flow("sub"), func(c *orchv1.FlowRunCreate) { c.ParentTaskRunId, c.Name = new(stands.GetId()), "mine" })
	d.task(d.runningFlow("other"), "1")

	made := func(edit func(*orchv1.ArtifactCreate)) *orchv1.Artifact {
		create := &orchv1.ArtifactCreate{FlowRunId: new(flowRun.GetId()), Key: new("k"), Type: new("progress"), Data: []byte("42")}
		edit(create)
		return call[*orchv1.Artifact](d, orchv1.ArtifactService_CreateArtifact_FullMethodName, &orchv1.CreateArtifactRequest{Artifact: create})
	}
	progress := made(func(c *orchv1.ArtifactCreate) { c.TaskRunId = new(left.GetId()) })
	newest := made(func(c *orchv1.ArtifactCreate) { c.Type, c.Data = new("markdown"), []byte(`"text"`) })
	made(func(c *orchv1.ArtifactCreate) { c.Type, c.Key = new("result"), new("other") })

	graph := d.graph(flowRun, time.Time{})
	require.Len(t, graph.GetNodes(), 5)
	var order []string
	nodes := map[string]*orchv1.GraphNode{}
	for _, entry := range graph.GetNodes() {
		require.Equal(t, entry.GetId(), entry.GetNode().GetId())
		order = append(order, entry.GetId())
		nodes[entry.GetId()] = entry.GetNode()
	}
	require.Equal(t, []string{extract.GetId(), left.GetId(), right.GetId(), load.GetId(), child.GetId()}, order, "earliest first")
	require.Equal(t, []string{extract.GetId()}, graph.GetRootNodeIds())
	require.Equal(t, "extract", nodes[extract.GetId()].GetLabel())
	require.Equal(t, []string{left.GetId(), right.GetId()}, ids(nodes[extract.GetId()].GetChildren()))
	require.Equal(t, []string{extract.GetId()}, ids(nodes[right.GetId()].GetParents()))
	require.Equal(t, []string{left.GetId()}, ids(nodes[right.GetId()].GetEncapsulating()))
	require.Equal(t, []string{left.GetId(), right.GetId()}, ids(nodes[load.GetId()].GetParents()), "each once, and only those that there are")
	require.Equal(t, orchv1.GraphNodeKind_GRAPH_NODE_KIND_FLOW_RUN, nodes[child.GetId()].GetKind())
	require.Equal(t, "sub / mine", nodes[child.GetId()].GetLabel())
	require.Equal(t, []string{load.GetId()}, ids(nodes[child.GetId()].GetParents()))
	require.Len(t, graph.GetStates(), 2)

	require.Len(t, nodes[left.GetId()].GetArtifacts(), 1)
	shown := nodes[left.GetId()].GetArtifacts()[0]
	require.Equal(t, progress.GetId(), shown.GetId())
	require.Equal(t, "42", string(shown.GetData()))
	require.Len(t, graph.GetArtifacts(), 1, "results are not shown")
	require.Equal(t, newest.GetId(), graph.GetArtifacts()[0].GetId())
	require.Nil(t, graph.GetArtifacts()[0].Data, "only of progress")
	eventually(t, func() bool { return d.graph(flowRun, time.Time{}).GetArtifacts()[0].GetIsLatest() }, "the newest of its key")
	text, err := restjson.Marshal(graph)
	require.NoError(t, err)
	require.Contains(t, string(text), `[["`+extract.GetId()+`",{"kind":"task-run","id":"`)

	// Later graphs leave out ended runs and show changed ones.
	d.setTask(extract, to(stRunning))
	d.setTask(extract, to(stCompleted))
	after := d.readTask(extract.GetId()).GetEndTime().AsTime().Add(time.Microsecond)
	graph = d.graph(flowRun, after)
	require.Len(t, graph.GetNodes(), 4)
	require.Empty(t, graph.GetRootNodeIds())
	require.Equal(t, left.GetId(), graph.GetNodes()[0].GetId())
	require.Equal(t, []string{extract.GetId()}, ids(graph.GetNodes()[0].GetNode().GetParents()), "its edges stay")
	require.Len(t, d.graph(flowRun, after.Add(-time.Microsecond)).GetNodes(), 5)

	_, _, err = try[*orchv1.Graph](d, orchv1.FlowRunGraphService_ReadFlowRunGraphV2_FullMethodName,
		&orchv1.ReadFlowRunGraphV2Request{Id: uuid.NewString(), Since: &timestamppb.Timestamp{}})
	code, _ := status(err)
	require.Equal(t, 404, code)
}

func TestDependenciesOfTaskRuns(t *testing.T) {
	t.Parallel()
	d := newDomain(t)
	flowRun := d.runningFlow("etl")
	first := d.task(flowRun, "1")
	second := d.task(flowRun, "2", takes("x", first, first), takes("__parents__", first))
	d.setTask(first, to(stRunning))
	got := call[*orchv1.DependencyResultList](d, orchv1.FlowRunGraphService_ReadFlowRunGraphV1_FullMethodName,
		&orchv1.ReadFlowRunGraphV1Request{Id: flowRun.GetId()}).GetDependencies()
	require.Len(t, got, 2)
	require.Empty(t, got[0].GetUpstreamDependencies())
	require.Equal(t, stRunning, got[0].GetState().GetType())
	require.Equal(t, second.GetId(), got[1].GetId())
	require.Len(t, got[1].GetUpstreamDependencies(), 1)
	require.Equal(t, first.GetId(), got[1].GetUpstreamDependencies()[0].GetId())
	_, _, err := try[*orchv1.DependencyResultList](d, orchv1.FlowRunGraphService_ReadFlowRunGraphV1_FullMethodName,
		&orchv1.ReadFlowRunGraphV1Request{Id: uuid.NewString()})
	code, _ := status(err)
	require.Equal(t, 404, code)
}
