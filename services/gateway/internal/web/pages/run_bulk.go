package pages

import (
	"fmt"
	"slices"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// maxBulk is the number of runs that one call of the API changes.
const maxBulk = 50

// bulkActions change the ticked runs, after a confirmation that names them.
func bulkActions() []page.Action {
	set, remove := orchv1.FlowRunService_BulkSetFlowRunState_FullMethodName, orchv1.FlowRunService_BulkDeleteFlowRuns_FullMethodName
	return []page.Action{
		{Name: "cancel-runs", Calls: []string{set}, Done: "%d runs are being cancelled. Runs that have ended stay as they are.", Do: bulk("cancel-runs", "Cancel", func(r *page.Request, ids []string) (int, error) {
			return bulkSetState(r, ids, cancelling())
		})},
		{Name: "retry-runs", Calls: []string{set}, Done: "%d runs are scheduled again. The rules refused the others.", Do: bulk("retry-runs", "Retry", func(r *page.Request, ids []string) (int, error) {
			return bulkSetState(r, ids, awaitingRetry(r))
		})},
		{Name: "delete-runs", Calls: []string{remove}, Done: "%d runs are deleted.", Do: bulk("delete-runs", "Delete", bulkDelete)},
	}
}

// bulk returns an action on the ticked runs.
func bulk(name, title string, do func(r *page.Request, ids []string) (int, error)) func(*page.Request) (page.View, error) {
	return func(r *page.Request) (page.View, error) {
		ids := ticked(r)
		if len(ids) == 0 {
			view, err := showRuns(r)
			view.Notices = append(view.Notices, page.Notice{Kind: "info", Text: "No run is ticked."})
			return view, err
		}
		if confirmed(r) {
			changed, err := do(r, ids)
			if err != nil {
				return page.View{}, err
			}
			return r.Done(r.Here(), name, changed), nil
		}
		runs := apicall.New[*orchv1.FlowRunList](orchv1.FlowRunService_ReadFlowRuns_FullMethodName, apicall.Input{Body: apicall.JSON{"flow_runs": apicall.JSON{"id": any_(ids)}}})
		if err := r.Call(runs); err != nil {
			return page.View{}, err
		}
		v := confirmView{Button: title, Action: name}
		for _, run := range runs.Result().GetFlowRuns() {
			v.Items = append(v.Items, show.Line(run.GetName(), 80)+" · "+run.GetStateName())
			v.Fields = append(v.Fields, hiddenField{"id", run.GetId()})
		}
		v.Title = fmt.Sprintf("%s %s?", title, show.Plural(int64(len(v.Items)), "run", "runs"))
		return confirm(r, v), nil
	}
}

// ticked returns the ids of the form, at most as many as a page has rows.
func ticked(r *page.Request) []string {
	var ids []string
	for _, text := range r.Form["id"] {
		if id, err := uuid.Parse(text); err == nil && len(ids) < 200 {
			ids = append(ids, id.String())
		}
	}
	return unique(ids)
}

// bulkSetState proposes a state to the runs, 50 in a call, and returns how many accepted it.
// The types are those that a run must still have; none means all.
func bulkSetState(r *page.Request, ids []string, state apicall.JSON, types ...string) (accepted int, err error) {
	for batch := range slices.Chunk(ids, maxBulk) {
		runs := apicall.JSON{"id": any_(batch)}
		if len(types) > 0 {
			runs["state"] = apicall.JSON{"type": any_(types)}
		}
		result := apicall.New[*orchv1.FlowRunBulkSetStateResponse](orchv1.FlowRunService_BulkSetFlowRunState_FullMethodName, apicall.Input{
			Body: apicall.JSON{"flow_runs": runs, "state": state, "limit": maxBulk},
		})
		if err := r.Call(result); err != nil {
			return accepted, err
		}
		for _, decision := range result.Result().GetResults() {
			if decision.GetStatus() == orchv1.SetStateStatus_SET_STATE_STATUS_ACCEPT {
				accepted++
			}
		}
	}
	return accepted, nil
}

func bulkDelete(r *page.Request, ids []string) (deleted int, err error) {
	for batch := range slices.Chunk(ids, maxBulk) {
		result := apicall.New[*orchv1.FlowRunBulkDeleteResponse](orchv1.FlowRunService_BulkDeleteFlowRuns_FullMethodName, apicall.Input{
			Body: apicall.JSON{"flow_runs": apicall.JSON{"id": any_(batch)}, "limit": maxBulk},
		})
		if err := r.Call(result); err != nil {
			return deleted, err
		}
		deleted += len(result.Result().GetDeleted())
	}
	return deleted, nil
}
