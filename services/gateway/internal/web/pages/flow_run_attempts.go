package pages

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/chart"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

const (
	// attemptsRead is the number of task runs whose attempts a page counts, the failed ones first.
	attemptsRead = 200
	// retriedRead is the number of retried task runs whose states a page reads.
	retriedRead = 20
)

// readAttempts adds the attempts of retried task runs to their spans. Without them, a span is one bar.
func (g *runGraph) readAttempts(r *page.Request) {
	ids := g.mostFailed(attemptsRead)
	if len(ids) == 0 {
		return
	}
	tasks := apicall.New[*orchv1.TaskRunList](orchv1.TaskRunService_ReadTaskRuns_FullMethodName, apicall.Input{Body: apicall.JSON{
		"task_runs": apicall.JSON{"id": any_(ids)}, "limit": attemptsRead,
	}})
	_ = r.Call(tasks)
	counts := map[string]int64{}
	for _, task := range tasks.Result().GetTaskRuns() {
		counts[task.GetId()] = task.GetRunCount()
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return counts[id] < 2 })
	ids = ids[:min(len(ids), retriedRead)]
	var calls []apicall.Call
	var states []*apicall.Unary[*orchv1.StateList]
	for _, id := range ids {
		call := taskRunStatesOf(id)
		calls, states = append(calls, call), append(states, call)
	}
	_ = r.Call(calls...)
	for i, id := range ids {
		span := g.spans[id]
		span.Attempts = attemptSpans(statesUntil(states[i].Result().GetStates(), g.now), span.To)
		g.spans[id] = span
	}
}

// mostFailed returns the ids of task runs that began, at most n: the failed ones first, then the earliest.
func (g *runGraph) mostFailed(n int) []string {
	var nodes []*orchv1.GraphNode
	for _, entry := range g.entries {
		node := entry.GetNode()
		if _, began := g.spans[node.GetId()]; began && node.GetKind() == orchv1.GraphNodeKind_GRAPH_NODE_KIND_TASK_RUN {
			nodes = append(nodes, node)
		}
	}
	rank := func(node *orchv1.GraphNode) int {
		switch g.spans[node.GetId()].Class {
		case "failed", "crashed":
			return 0
		}
		return 1
	}
	slices.SortStableFunc(nodes, func(a, b *orchv1.GraphNode) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), a.GetStartTime().AsTime().Compare(b.GetStartTime().AsTime()), strings.Compare(a.GetId(), b.GetId()))
	})
	var ids []string
	for _, node := range nodes[:min(len(nodes), n)] {
		ids = append(ids, node.GetId())
	}
	return ids
}

// attemptSpans returns the attempts of a run by its states, oldest first; nil if it had less than two. Each RUNNING state begins
// an attempt, which lasts until the next state. The attempt failed if that state waits for a retry or is one.
func attemptSpans(states []*orchv1.State, end time.Time) []chart.Span {
	total := len(attempts(states))
	if total < 2 {
		return nil
	}
	var spans []chart.Span
	for i, state := range states {
		if state.GetType() != orchv1.StateType_STATE_TYPE_RUNNING {
			continue
		}
		span := chart.Span{From: state.GetTimestamp().AsTime(), To: end, Class: "running"}
		if i+1 < len(states) {
			next := states[i+1]
			span.To, span.Class = next.GetTimestamp().AsTime(), strings.ToLower(show.StateWord(next.GetType()))
			switch next.GetType() {
			case orchv1.StateType_STATE_TYPE_RUNNING, orchv1.StateType_STATE_TYPE_SCHEDULED:
				span.Class = "failed"
			}
		}
		span.To = latest(span.From, span.To)
		span.Title = fmt.Sprintf("attempt %d of %d: %s, %s", len(spans)+1, total, span.Class, show.Duration(span.To.Sub(span.From).Round(time.Millisecond)))
		spans = append(spans, span)
	}
	return spans
}
