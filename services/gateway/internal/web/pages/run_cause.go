package pages

import (
	"cmp"
	"slices"
	"strings"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/graph"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// causeView shows the cause of a failed run.
type causeView struct {
	// Error is the exception, or the message of the state.
	Error string
	// Task links to the task run that failed first, empty if no task failed; Attempts counts its attempts in words.
	Task     markup.Markup
	Attempts string
	// NotReached links to the tasks that needed the failed one; More counts the tasks beyond maxNotReached.
	NotReached []markup.Markup
	More       string
	// Frame is the last frame of the user's code, nil if the log has no traceback that can be read.
	Frame *show.Frame
	// Whole is the text of the log line. Summary counts its other frames and tracebacks.
	Whole, Summary string
}

// maxNotReached is the number of tasks that a cause names.
const maxNotReached = 3

// errorLogs reads the first errors of a run.
func errorLogs(run apicall.JSON) *apicall.Unary[*orchv1.LogList] {
	run["level"] = apicall.JSON{"ge_": 40}
	return apicall.New[*orchv1.LogList](orchv1.LogService_ReadLogs_FullMethodName, apicall.Input{Body: apicall.JSON{"logs": run, "limit": 5}})
}

// newCause returns the cause of a failed run. logs are the errors of the run, and message is the message of its state.
func newCause(logs []*orchv1.Log, message string) *causeView {
	v := &causeView{Error: show.Line(message, 300)}
	for _, l := range logs {
		traceback, ok := show.ParseTraceback(l.GetMessage())
		if !ok {
			continue
		}
		v.Error = show.Line(traceback.Error, 300)
		v.Whole = show.Middle(show.Visible(l.GetMessage()), 20_000)
		own, found := traceback.Own()
		libraries := int64(len(traceback.Frames))
		if found {
			own.Source, own.Function = show.Line(own.Source, 200), show.Line(own.Function, 80)
			v.Frame = &own
			libraries--
		}
		v.Summary = "The traceback"
		if libraries > 0 {
			v.Summary = show.Plural(libraries, "other frame", "other frames")
		}
		if traceback.Count > 1 {
			v.Summary += ", " + show.Plural(int64(traceback.Count), "traceback", "tracebacks")
		}
		return v
	}
	if len(logs) > 0 {
		v.Whole, v.Summary = show.Middle(show.Visible(logs[0].GetMessage()), 20_000), "The log line"
		v.Error = cmp.Or(v.Error, show.Line(logs[0].GetMessage(), 300))
	}
	return v
}

// firstFailure returns the failed node that no other failed node precedes, the earliest to end if there are several; nil if
// no task failed.
func (g *runGraph) firstFailure() *orchv1.GraphNode {
	nodes := make(map[string]*orchv1.GraphNode, len(g.entries))
	var failed []*orchv1.GraphNode
	for _, entry := range g.entries {
		node := entry.GetNode()
		nodes[node.GetId()] = node
		switch node.GetStateType() {
		case orchv1.StateType_STATE_TYPE_FAILED, orchv1.StateType_STATE_TYPE_CRASHED:
			if node.EndTime != nil && !node.GetEndTime().AsTime().After(g.now) {
				failed = append(failed, node)
			}
		}
	}
	ids := map[string]bool{}
	for _, node := range failed {
		ids[node.GetId()] = true
	}
	var first []*orchv1.GraphNode
	for _, node := range failed {
		if !slices.ContainsFunc(node.GetParents(), func(parent *orchv1.GraphEdge) bool { return ids[parent.GetId()] }) {
			first = append(first, node)
		}
	}
	if len(first) == 0 { // Failed nodes that need each other in turn.
		first = failed
	}
	if len(first) == 0 {
		return nil
	}
	return slices.MinFunc(first, func(a, b *orchv1.GraphNode) int {
		return cmp.Or(a.GetEndTime().AsTime().Compare(b.GetEndTime().AsTime()), strings.Compare(a.GetId(), b.GetId()))
	})
}

// notReached returns the nodes that needed a node and never began, nearest first.
func (g *runGraph) notReached(from *orchv1.GraphNode) []*orchv1.GraphNode {
	children := map[string][]*orchv1.GraphNode{}
	for _, entry := range g.entries {
		for _, parent := range entry.GetNode().GetParents() {
			children[parent.GetId()] = append(children[parent.GetId()], entry.GetNode())
		}
	}
	var found []*orchv1.GraphNode
	seen := map[string]bool{from.GetId(): true}
	queue := []string{from.GetId()}
	for len(queue) > 0 {
		id := queue[0]
		queue = queue[1:]
		for _, child := range children[id] {
			if seen[child.GetId()] {
				continue
			}
			seen[child.GetId()] = true
			if _, class := spanOf(child, g.now, g.ended); class == graph.NotReached {
				found = append(found, child)
				queue = append(queue, child.GetId())
			}
		}
	}
	return found
}

// showCause fills the cause of a failed flow run: by the first failed task if the graph has one, else by the run's own errors.
func showCause(r *page.Request, h flowRunHead, g *runGraph, v *flowRunView) {
	var node *orchv1.GraphNode
	if g != nil {
		node = g.firstFailure()
	}
	if node == nil || node.GetKind() != orchv1.GraphNodeKind_GRAPH_NODE_KIND_TASK_RUN {
		logs := errorLogs(logsUntil(apicall.JSON{"flow_run_id": any_([]string{h.run.GetId()})}, h.at))
		_ = r.Call(logs) // The message of the state remains.
		v.Cause = newCause(logs.Result().GetLogs(), h.state.GetMessage())
	} else {
		logs := errorLogs(logsUntil(apicall.JSON{"task_run_id": any_([]string{node.GetId()})}, h.at))
		task := apicall.New[*orchv1.TaskRun](orchv1.TaskRunService_ReadTaskRun_FullMethodName, apicall.ID(node.GetId()))
		_ = r.Call(logs, task) // Without them the message of the state remains.
		v.Cause = newCause(logs.Result().GetLogs(), cmp.Or(task.Result().GetState().GetMessage(), h.state.GetMessage()))
		if n := task.Result().GetRunCount(); n > 1 {
			v.Cause.Attempts = " after " + show.Plural(n, "attempt", "attempts")
		}
	}
	if node == nil {
		return
	}
	kind := "task-run"
	if node.GetKind() == orchv1.GraphNodeKind_GRAPH_NODE_KIND_FLOW_RUN {
		kind = "flow-run"
	}
	v.Cause.Task = show.Link(r.To("runs", kind, node.GetId()), node.GetLabel())
	unreached := g.notReached(node)
	for _, child := range unreached[:min(len(unreached), maxNotReached)] {
		v.Cause.NotReached = append(v.Cause.NotReached, show.Link(r.To("runs", "task-run", child.GetId()), graph.TaskName(child.GetLabel())))
	}
	if n := len(unreached) - maxNotReached; n > 0 {
		v.Cause.More = show.Count(int64(n)) + " more"
	}
}
