package pages

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/chart"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// maxLanes is the number of lanes above which runs of one task share a lane.
const maxLanes = 40

// flowRunOverview shows the first errors and the timeline.
func flowRunOverview(r *page.Request, h flowRunHead, v *flowRunView) error {
	v.Pairs = h.facts(r)
	graph := apicall.NewShared[*orchv1.Graph](orchv1.FlowRunGraphService_ReadFlowRunGraphV2_FullMethodName, apicall.ID(h.run.GetId()))
	failures := apicall.New[*orchv1.LogList](orchv1.LogService_ReadLogs_FullMethodName, apicall.Input{Body: apicall.JSON{
		"logs": logsUntil(apicall.JSON{"flow_run_id": any_([]string{h.run.GetId()}), "level": apicall.JSON{"ge_": 40}}, h.at), "limit": 5,
	}})
	calls := []apicall.Call{graph}
	if v.Failed {
		calls = append(calls, failures)
	}
	_ = r.Call(calls...)                                                                       // Each panel says what it misses.
	if graph.Err() != nil && rpc.HTTPError(graph.Err()).GetStatus() == http.StatusBadRequest { // It has too many tasks.
		calls[0] = showTaskHistory(r, h, v)
	}
	v.Problems = problems(calls...)
	if logs := failures.Result().GetLogs(); len(logs) > 0 {
		v.Logs = &logsView{Rows: logRows(r, logs), Brief: true}
	}
	if graph.Err() == nil {
		v.Timeline = timeline(r, graph.Result().GetNodes(), until(r, h.at), h.ended())
	}
	return nil
}

// showTaskHistory draws how many tasks started when, for a run with more tasks than the graph may have.
func showTaskHistory(r *page.Request, h flowRunHead, v *flowRunView) apicall.Call {
	from, to := startOf(h.run), until(r, h.at)
	if from.IsZero() {
		from = h.run.GetCreated().AsTime()
	}
	if h.run.EndTime != nil && h.run.GetEndTime().AsTime().Before(to) {
		to = h.run.GetEndTime().AsTime()
	}
	to = latest(to, from).Add(time.Second) // The end is exclusive.
	history := apicall.New[*orchv1.HistoryList](orchv1.TaskRunService_TaskRunHistory_FullMethodName, apicall.Input{Body: apicall.JSON{
		"task_runs": apicall.JSON{"flow_run_id": any_([]string{h.run.GetId()})}, "history_start": from, "history_end": to,
		"history_interval_seconds": max(to.Sub(from).Seconds()/histogramBars, 1),
	}})
	if r.Call(history) == nil {
		v.Timeline = historyChart(r, history.Result().GetHistory(), "Too many tasks for a timeline: tasks by expected start, stacked by state")
	}
	return history
}

// taskSuffix is what the client appends to a task's name to name its run.
var taskSuffix = regexp.MustCompile(`-([0-9a-f]{2,8}|[0-9]+)$`)

// timeline draws the nodes of a graph that had started at a moment. Nodes that ended later were running. The zero time as the
// end of the run means that it had not ended.
func timeline(r *page.Request, nodes []*orchv1.GraphEntry, now, ended time.Time) markup.Markup {
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(e *orchv1.GraphEntry) bool { return e.GetNode().GetStartTime().AsTime().After(now) })
	folded := len(nodes) > maxLanes
	var lanes []*chart.Lane
	byLabel := map[string]*chart.Lane{}
	states := map[*chart.Lane]map[string]int{}
	runs := map[*chart.Lane]int{}
	for _, entry := range nodes {
		node := entry.GetNode()
		to := r.To("runs", "task-run", node.GetId())
		if node.GetKind() == orchv1.GraphNodeKind_GRAPH_NODE_KIND_FLOW_RUN {
			to = r.To("runs", "flow-run", node.GetId())
		}
		label := node.GetLabel()
		if folded {
			label = taskSuffix.ReplaceAllString(label, "")
		}
		lane := byLabel[label]
		if lane == nil || !folded {
			lane = &chart.Lane{Label: label, Link: to}
			lanes, byLabel[label], states[lane] = append(lanes, lane), lane, map[string]int{}
		}
		span, class := spanOf(node, now, ended)
		states[lane][class]++
		runs[lane]++
		if span != nil {
			lane.Spans = append(lane.Spans, *span)
		}
	}
	t := chart.Timeline{Clock: clockOf(r), Caption: show.Plural(int64(len(nodes)), "task", "tasks")}
	for _, lane := range lanes {
		lane.Note = laneNote(lane, states[lane])
		if runs[lane] > 1 {
			lane.Label, lane.Link = fmt.Sprintf("%s ×%d", lane.Label, runs[lane]), ""
		}
		t.Lanes = append(t.Lanes, *lane)
	}
	if len(t.Lanes) > 5*maxLanes {
		t.Lanes = t.Lanes[:5*maxLanes]
		t.Caption += fmt.Sprintf(" · the first %d task names are shown", 5*maxLanes)
	}
	return t.Markup()
}

// notReached words the state of a task that its run ended before it began.
const notReached = "not reached"

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
		return nil, notReached
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

// laneNote words the duration of one run, or the states of several.
func laneNote(lane *chart.Lane, states map[string]int) string {
	if len(lane.Spans) == 1 && len(states) == 1 {
		return show.Duration(lane.Spans[0].To.Sub(lane.Spans[0].From).Round(time.Millisecond))
	}
	type fraction struct {
		class string
		n     int
	}
	var fractions []fraction
	for class, n := range states {
		fractions = append(fractions, fraction{class, n})
	}
	slices.SortFunc(fractions, func(a, b fraction) int { return cmp.Or(b.n-a.n, strings.Compare(a.class, b.class)) })
	if len(fractions) == 1 && fractions[0].n == 1 {
		return fractions[0].class
	}
	var words []string
	for _, s := range fractions {
		words = append(words, fmt.Sprintf("%d %s", s.n, s.class))
	}
	return strings.Join(words, ", ")
}
