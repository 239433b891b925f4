package pages

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/chart"
	"github.com/orch-project/orch/services/gateway/internal/web/graph"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

const (
	// maxOpen is the number of subflow runs that a page opens.
	maxOpen = 10
	// openParameter has the id of a subflow run whose tasks the graph shows; it may be repeated.
	openParameter = "open"
	// maxLanes is the number of lanes of a timeline.
	maxLanes = 200
)

// runGraph is the graph of a flow run at a moment, with the graphs of opened subflow runs.
type runGraph struct {
	entries []*orchv1.GraphEntry
	// openIDs are the subflow runs that the address opens, and opened the graphs that could be read, by id.
	openIDs []string
	opened  map[string][]*orchv1.GraphEntry
	// spans are when the nodes ran, by id; nodes that never began are absent.
	spans map[string]chart.Span
	// now is the moment of the page. started and ended are the start and the end of the run; each is zero if it had not come
	// at that moment.
	now, started, ended time.Time
	drawing             *graph.Drawing
}

func graphCall(run string) *apicall.Unary[*orchv1.Graph] {
	return apicall.NewShared[*orchv1.Graph](orchv1.FlowRunGraphService_ReadFlowRunGraphV2_FullMethodName, apicall.ID(run))
}

// newRunGraph reads the graphs of the opened subflow runs and lays out the whole. A subflow run whose graph cannot be read
// stays closed.
func newRunGraph(r *page.Request, entries []*orchv1.GraphEntry, h flowRunHead) *runGraph {
	g := &runGraph{
		entries: entries, openIDs: openedRuns(r), opened: map[string][]*orchv1.GraphEntry{}, spans: map[string]chart.Span{},
		now: until(r, h.at), started: h.started(), ended: h.ended(),
	}
	var calls []apicall.Call
	var graphs []*apicall.Unary[*orchv1.Graph]
	for _, id := range g.openIDs {
		call := graphCall(id)
		calls, graphs = append(calls, call), append(graphs, call)
	}
	_ = r.Call(calls...)
	for i, id := range g.openIDs {
		if graphs[i].Err() == nil {
			g.opened[id] = graphs[i].Result().GetNodes()
		}
	}
	g.drawing = graph.Draw(g.nodes(r, entries))
	return g
}

// openedRuns returns the ids of the subflow runs that the address opens.
func openedRuns(r *page.Request) []string {
	var ids []string
	for _, id := range r.HTTP.URL.Query()[openParameter] {
		if len(ids) < maxOpen && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// nodes returns the nodes that had started at the moment of the graph.
func (g *runGraph) nodes(r *page.Request, entries []*orchv1.GraphEntry) []graph.Node {
	nodes := make([]graph.Node, 0, len(entries))
	for _, entry := range entries {
		run := entry.GetNode()
		if run.GetStartTime().AsTime().After(g.now) {
			continue
		}
		span, class := spanOf(run, g.now, g.ended)
		node := graph.Node{
			ID: run.GetId(), Label: run.GetLabel(), State: class, Start: run.GetStartTime().AsTime().UnixMicro(),
			Flow: run.GetKind() == orchv1.GraphNodeKind_GRAPH_NODE_KIND_FLOW_RUN, Link: r.To("runs", "task-run", run.GetId()),
		}
		if span != nil {
			g.spans[node.ID] = *span
			node.Note = show.Duration(span.To.Sub(span.From).Round(time.Millisecond))
		}
		for _, parent := range run.GetParents() {
			node.Parents = append(node.Parents, parent.GetId())
		}
		if node.Flow {
			node.Link = r.To("runs", "flow-run", node.ID)
			node.Children = g.nodes(r, g.opened[node.ID])
			node.Toggle = g.toggle(r, node.ID)
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// toggle returns the address of the page with a subflow run opened, or closed if it is open.
func (g *runGraph) toggle(r *page.Request, id string) string {
	query := r.HTTP.URL.Query()
	query.Del(page.WaitParameter)
	if slices.Contains(g.openIDs, id) {
		query[openParameter] = slices.DeleteFunc(slices.Clone(g.openIDs), func(open string) bool { return open == id })
	} else {
		query[openParameter] = append(slices.Clone(g.openIDs), id)
	}
	return r.Path() + "?" + query.Encode()
}

// tasksNamed returns the links to the runs of one task of a flow run.
func tasksNamed(r *page.Request, run string) graph.Links {
	return func(task string) string {
		path := r.To("runs", "flow-run", run, "tasks")
		if task == "" {
			return path
		}
		return path + "?" + url.Values{"q": {task}}.Encode()
	}
}

// caption counts the tasks and subflow runs of the graph.
func (g *runGraph) caption() string {
	tasks, flows := int64(0), int64(0)
	for _, entry := range g.entries {
		if entry.GetNode().GetKind() == orchv1.GraphNodeKind_GRAPH_NODE_KIND_FLOW_RUN {
			flows++
		} else {
			tasks++
		}
	}
	text := show.Plural(tasks, "task", "tasks")
	if flows > 0 {
		text += ", " + show.Plural(flows, "subflow", "subflows")
	}
	return text
}

// timeline draws the boxes of the graph as lanes, by their start. Boxes that were not reached come last.
func (g *runGraph) timeline(r *page.Request, links graph.Links) markup.Markup {
	critical := map[string]bool{}
	for _, node := range g.criticalPath() {
		critical[node.GetId()] = true
	}
	t := chart.Timeline{Clock: clockOf(r), Caption: g.caption(), From: g.started, To: g.ended}
	if g.ended.IsZero() && !g.started.IsZero() {
		t.To = g.now
	}
	for _, box := range g.drawing.Boxes {
		lane := chart.Lane{Label: box.Title(), Link: box.Link(links), Note: box.Note()}
		for _, node := range box.Nodes {
			lane.Critical = lane.Critical || critical[node.ID]
			if span, began := g.spans[node.ID]; began {
				lane.Spans = append(lane.Spans, span)
			}
		}
		if len(box.Nodes) == 1 && len(lane.Spans) == 1 && len(lane.Spans[0].Attempts) > 1 {
			lane.Note = show.Plural(int64(len(lane.Spans[0].Attempts)), "attempt", "attempts") + ", " + lane.Note
		}
		t.Lanes = append(t.Lanes, lane)
	}
	slices.SortStableFunc(t.Lanes, byStart)
	if len(t.Lanes) > maxLanes {
		t.Lanes = t.Lanes[:maxLanes]
		t.Caption += " · the first " + show.Digits(maxLanes) + " task names are shown"
	}
	return t.Markup()
}

// byStart orders lanes by their first span. Lanes without one are last.
func byStart(a, b chart.Lane) int {
	if len(a.Spans) == 0 || len(b.Spans) == 0 {
		return min(len(b.Spans), 1) - min(len(a.Spans), 1)
	}
	return a.Spans[0].From.Compare(b.Spans[0].From)
}

// criticalPath returns the chain of nodes that ended last: the node with the latest end, before it the one of its parents with
// the latest end, and so on. It is empty if that node has no parent.
func (g *runGraph) criticalPath() []*orchv1.GraphNode {
	nodes := make(map[string]*orchv1.GraphNode, len(g.entries))
	var parents []*orchv1.GraphEdge
	for _, entry := range g.entries {
		nodes[entry.GetId()] = entry.GetNode()
		parents = append(parents, &orchv1.GraphEdge{Id: entry.GetId()})
	}
	var path []*orchv1.GraphNode
	visited := map[*orchv1.GraphNode]bool{} // Recorded inputs may form a cycle.
	for len(parents) > 0 {
		var last *orchv1.GraphNode
		for _, parent := range parents {
			span, began := g.spans[parent.GetId()]
			node := nodes[parent.GetId()]
			if !began || node == nil || visited[node] {
				continue
			}
			if last == nil || cmp.Or(span.To.Compare(g.spans[last.GetId()].To), strings.Compare(last.GetId(), node.GetId())) > 0 {
				last = node
			}
		}
		if last == nil {
			break
		}
		visited[last] = true
		path, parents = append(path, last), last.GetParents()
	}
	if len(path) < 2 {
		return nil
	}
	slices.Reverse(path)
	return path
}

// criticalText names the critical path and its duration, empty without one.
func (g *runGraph) criticalText() string {
	path := g.criticalPath()
	if len(path) == 0 {
		return ""
	}
	var names []string
	for _, node := range path {
		names = append(names, graph.TaskName(node.GetLabel()))
	}
	took := g.spans[path[len(path)-1].GetId()].To.Sub(g.spans[path[0].GetId()].From)
	return "critical path " + show.Duration(took.Round(time.Millisecond)) + ": " + show.Middle(show.Visible(strings.Join(names, " → ")), 120)
}

// spanOf returns the time of a node until now, and its state in lower case. A node without an end lasts until the run's. A
// pending one of a run that has ended never began and has no span.
func spanOf(node *orchv1.GraphNode, now, ended time.Time) (*chart.Span, string) {
	from, until := node.GetStartTime().AsTime(), now
	class := strings.ToLower(show.StateWord(node.GetStateType()))
	switch end := node.GetEndTime().AsTime(); {
	case node.EndTime != nil && end.After(now):
		class = strings.ToLower(show.StateWord(orchv1.StateType_STATE_TYPE_RUNNING))
	case node.EndTime != nil:
		until = end
	case ended.IsZero():
	case node.GetStateType() == orchv1.StateType_STATE_TYPE_PENDING:
		return nil, graph.NotReached
	default:
		until = ended
	}
	until = latest(from, until)
	return &chart.Span{From: from, To: until, Class: class, Title: node.GetLabel() + ": " + class + ", " + show.Duration(until.Sub(from))}, class
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
