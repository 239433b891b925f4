package pages

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/graph"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

const (
	// lastLines is the number of log lines beside the timeline.
	lastLines = 30
	// maxParameters is the number of parameters beside the graph.
	maxParameters = 12
)

// flowRunOverview shows the cause of a failure, the graph, and the timeline beside the last lines of the log.
func flowRunOverview(r *page.Request, h flowRunHead, v *flowRunView) error {
	v.Pairs, v.Parameters = h.facts(r), parameterPairs(h.run.GetParameters())
	nodes := graphCall(h.run.GetId())
	lines := apicall.New[*orchv1.LogList](orchv1.LogService_ReadLogs_FullMethodName, apicall.Input{Body: apicall.JSON{
		"logs": logsUntil(apicall.JSON{"flow_run_id": any_([]string{h.run.GetId()}), "level": apicall.JSON{"ge_": 20}}, h.at), "sort": "TIMESTAMP_DESC", "limit": lastLines,
	}})
	calls := []apicall.Call{nodes, lines}
	_ = r.Call(calls...)                                                                       // Problems words the failed calls.
	if nodes.Err() != nil && rpc.HTTPError(nodes.Err()).GetStatus() == http.StatusBadRequest { // It has too many tasks.
		calls[0] = showTaskHistory(r, h, v)
	}
	v.Problems = problems(calls...)
	var g *runGraph
	if nodes.Err() == nil {
		g = newRunGraph(r, nodes.Result().GetNodes(), h)
		g.readAttempts(r)
		links := tasksNamed(r, h.run.GetId())
		v.Graph, v.GraphCaption, v.Timeline, v.CriticalPath = g.drawing.Markup(links), g.caption(), g.timeline(r, links), g.criticalText()
	}
	if h.at.IsZero() {
		flowRunContext(r, h, v)
	}
	if v.Failed {
		showCause(r, h, g, v)
	}
	if logs := lines.Result().GetLogs(); len(logs) > 0 {
		slices.Reverse(logs)
		for _, l := range logs {
			l.Message = briefMessage(l.GetMessage())
		}
		v.Logs = &logsView{Rows: logRows(r, logs), Brief: true}
		if g != nil {
			nameTasks(v.Logs.Rows, logs, g)
		}
	}
	return nil
}

// briefMessage replaces the traceback of a log message by its error and the last frame of the user's code.
func briefMessage(message string) string {
	traceback, ok := show.ParseTraceback(message)
	if !ok {
		return message
	}
	text := traceback.Error
	if own, found := traceback.Own(); found {
		text += " (" + own.Name() + ":" + show.Digits(own.Line) + ")"
	}
	if head := strings.TrimSpace(message[:strings.Index(message, show.TracebackHead)]); head != "" {
		text = head + "\n" + text
	}
	return text
}

// nameTasks names the tasks of log lines as the graph does.
func nameTasks(rows []show.LogLine, logs []*orchv1.Log, g *runGraph) {
	names := make(map[string]string, len(g.entries))
	for _, entry := range g.entries {
		names[entry.GetId()] = graph.TaskName(entry.GetNode().GetLabel())
	}
	for i, l := range logs {
		rows[i].TaskName = show.Line(names[l.GetTaskRunId()], 30)
	}
}

// parameterPairs lists the parameters of a run in a column of facts, each as short JSON.
func parameterPairs(parameters []byte) []pair {
	var values map[string]json.RawMessage
	if json.Unmarshal(parameters, &values) != nil { // The tab shows the text as it is.
		return nil
	}
	var all []pair
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if len(all) == maxParameters {
			break
		}
		var compact bytes.Buffer
		if json.Compact(&compact, values[name]) != nil {
			continue
		}
		all = append(all, pair{show.Line(name, 40), cell{Text: show.Middle(show.Visible(compact.String()), 80)}})
	}
	return all
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
