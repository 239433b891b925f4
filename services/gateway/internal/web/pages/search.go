package pages

import (
	"slices"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// searchResult is an object that a search returns.
type searchResult struct {
	name, link string
	state      cell
}

// searchKind is a kind of object that the search finds by a part of its name, or by its id.
type searchKind struct {
	title, rpc string
	// columns are the heads of the panel's table: the name, and the state of kinds that have one.
	columns []string
	// call reads at most ten objects that a filter selects, and results returns them.
	call    func(filter apicall.JSON) apicall.Call
	results func(r *page.Request, call apicall.Call) []searchResult
}

// maxSearchResults is the number of objects of a kind that a search shows.
const maxSearchResults = 10

// newSearchKind describes a kind of object. The field is the filter's name in the body; sort is empty where the order is fixed.
func newSearchKind[List proto.Message, T any](title, rpc, field, sort string, columns []string, items func(List) []T, describe func(*page.Request, T) searchResult) searchKind {
	return searchKind{
		title: title, rpc: rpc, columns: columns,
		call: func(filter apicall.JSON) apicall.Call {
			body := apicall.JSON{field: filter, "limit": maxSearchResults}
			if sort != "" {
				body["sort"] = sort
			}
			return apicall.New[List](rpc, apicall.Input{Body: body})
		},
		results: func(r *page.Request, call apicall.Call) []searchResult {
			var all []searchResult
			for _, item := range items(call.(*apicall.Unary[List]).Result()) {
				all = append(all, describe(r, item))
			}
			return all
		},
	}
}

var nameColumns, stateColumns = []string{"Name"}, []string{"Name", "State"}

// searchKinds are the kinds in the order of their panels.
var searchKinds = []searchKind{
	newSearchKind("Flows", orchv1.FlowService_ReadFlows_FullMethodName, "flows", "NAME_ASC", nameColumns, (*orchv1.FlowList).GetFlows,
		func(r *page.Request, f *orchv1.Flow) searchResult {
			return searchResult{name: f.GetName(), link: r.To("flows", "flow", f.GetId())}
		}),
	newSearchKind("Deployments", orchv1.DeploymentService_ReadDeployments_FullMethodName, "deployments", "NAME_ASC", nameColumns, (*orchv1.DeploymentList).GetDeployments,
		func(r *page.Request, d *orchv1.Deployment) searchResult {
			return searchResult{name: d.GetName(), link: r.To("deployments", "deployment", d.GetId())}
		}),
	newSearchKind("Runs", orchv1.FlowRunService_ReadFlowRuns_FullMethodName, "flow_runs", "EXPECTED_START_TIME_DESC", stateColumns, (*orchv1.FlowRunList).GetFlowRuns,
		func(r *page.Request, run *orchv1.FlowRun) searchResult {
			return searchResult{run.GetName(), r.To("runs", "flow-run", run.GetId()), mark(show.State(run.GetStateType(), run.GetStateName()))}
		}),
	newSearchKind("Webhooks", orchv1.WebhookService_ReadWebhooks_FullMethodName, "webhooks", "", stateColumns, (*orchv1.WebhookList).GetWebhooks,
		func(r *page.Request, w *orchv1.Webhook) searchResult {
			return searchResult{w.GetName(), r.To("webhooks", "webhook", w.GetId()), text(enumWord(w.GetHealth().GetStatus()))}
		}),
}

// taskRunSearch finds task runs by id alone: their names are those of their tasks, and a part of one selects too many.
var taskRunSearch = newSearchKind("Task runs", orchv1.TaskRunService_ReadTaskRuns_FullMethodName, "task_runs", "", stateColumns, (*orchv1.TaskRunList).GetTaskRuns,
	func(r *page.Request, run *orchv1.TaskRun) searchResult {
		return searchResult{run.GetName(), r.To("runs", "task-run", run.GetId()), mark(show.State(run.GetStateType(), run.GetStateName()))}
	})

// searchPage finds objects by a part of their name. An id leads to its object.
func searchPage() page.Page {
	uses := []string{taskRunSearch.rpc}
	for _, kind := range searchKinds {
		uses = append(uses, kind.rpc)
	}
	return page.Page{Pattern: "/search", Uses: uses, Show: showSearch}
}

// searchView is the data of the page.
type searchView struct {
	Q, Path string
	// Hint stands where there is no panel.
	Hint   string
	Panels []panel
}

func showSearch(r *page.Request) (page.View, error) {
	q := r.Text("q")
	if err := r.Err(); err != nil {
		return page.View{}, err
	}
	v := searchView{Q: q, Path: r.Path(), Hint: "Type a part of the name of a flow, deployment, run or webhook, or an id."}
	view := func() (page.View, error) { return page.View{Title: "Search", Template: "search.html", Data: v}, nil }
	if q == "" {
		return view()
	}
	v.Hint = "Nothing has this name."
	kinds, filter := slices.Clone(searchKinds), apicall.JSON{"name": apicall.JSON{"like_": q}}
	id, err := uuid.Parse(q)
	isID := err == nil
	if isID {
		v.Hint = "No run, flow, deployment or webhook of this workspace has this id."
		kinds, filter = append(kinds, taskRunSearch), apicall.JSON{"id": any_([]string{id.String()})}
	}
	kinds = slices.DeleteFunc(kinds, func(kind searchKind) bool { return !r.May(kind.rpc) })
	var calls []apicall.Call
	for _, kind := range kinds {
		calls = append(calls, kind.call(filter))
	}
	_ = r.Call(calls...) // A panel words the error of its call.
	for i, kind := range kinds {
		results := kind.results(r, calls[i])
		if isID && len(results) > 0 {
			return page.View{Redirect: results[0].link}, nil
		}
		p := panel{Title: kind.title, Problem: page.Problem(calls[i].Err())}
		if len(results) == 0 && p.Problem == "" {
			continue
		}
		p.Table = &table{Columns: kind.columns}
		for _, object := range results {
			p.Table.add([]cell{link(object.link, object.name), object.state}[:len(kind.columns)]...)
		}
		v.Panels = append(v.Panels, p)
	}
	return view()
}
