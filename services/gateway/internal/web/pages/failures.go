package pages

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// failureRow is a group of failed runs of one flow with one cause.
type failureRow struct {
	Key         string
	State       markup.Markup
	Flow        markup.Markup
	Message     string
	Runs        string
	Link        string
	Last        markup.Markup
	LastRun     markup.Markup
	lastFailure *orchv1.FlowRun
	count       int64
}

// maxFailureRows is the number of groups that the home page shows.
const maxFailureRows = 10

// failureCalls are the rpcs of failureRows.
var failureCalls = []string{orchv1.FlowService_ReadFlows_FullMethodName}

// variableParts matches the parts in which messages of one cause differ: quoted texts, ids and numbers.
var variableParts = regexp.MustCompile("'[^']*'|\"[^\"]*\"|`[^`]*`|[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|0x[0-9a-fA-F]+|[0-9]+(?:[.,:][0-9]+)*")

// causeOf returns the first line of a message without its variable parts.
func causeOf(message string) string {
	return variableParts.ReplaceAllString(show.Line(message, 300), "…")
}

// failureRows groups failed runs by flow, state and cause, the largest group first. A group shows the message of its last run.
func failureRows(r *page.Request, window string, runs []*orchv1.FlowRun) []failureRow {
	type key struct {
		flow, cause string
		state       orchv1.StateType
	}
	groups := map[key]*failureRow{}
	var rows []*failureRow
	var flowIDs []string
	for _, run := range runs { // The latest come first.
		k := key{run.GetFlowId(), causeOf(run.GetState().GetMessage()), run.GetStateType()}
		row := groups[k]
		if row == nil {
			row = &failureRow{lastFailure: run}
			groups[k], rows, flowIDs = row, append(rows, row), append(flowIDs, run.GetFlowId())
		}
		row.count++
	}
	if len(rows) == 0 {
		return nil
	}
	slices.SortStableFunc(rows, func(a, b *failureRow) int { return cmp.Compare(b.count, a.count) })
	rows = rows[:min(len(rows), maxFailureRows)]
	flows := apicall.New[*orchv1.FlowList](orchv1.FlowService_ReadFlows_FullMethodName, apicall.Input{Body: apicall.JSON{"flows": apicall.JSON{"id": any_(unique(flowIDs))}}})
	_ = r.Call(flows) // Without it the rows have ids.
	names := flowNames(flows.Result())
	all := make([]failureRow, 0, len(rows))
	for _, row := range rows {
		run := row.lastFailure
		query := url.Values{"from": {window}, "flow": {run.GetFlowId()}, "state": {show.StateWord(run.GetStateType())}}
		row.Key, row.Runs, row.Link = run.GetId(), show.Count(row.count), r.To("runs")+"?"+query.Encode()
		row.State, row.Message = show.State(run.GetStateType(), run.GetStateName()), show.Line(run.GetState().GetMessage(), 160)
		row.Flow = show.Link(r.To("flows", "flow", run.GetFlowId()), cmp.Or(names[run.GetFlowId()], run.GetFlowId()))
		row.Last, row.LastRun = clockOf(r).At(startOf(run)), show.Link(r.To("runs", "flow-run", run.GetId()), run.GetName())
		all = append(all, *row)
	}
	return all
}
