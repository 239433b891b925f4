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

// found is an object that a search returns.
type found struct {
	name, link string
	state      cell
}

// searched is a kind of object that the search finds by a part of its name, or by its id.
type searched struct {
	title, rpc string
	// columns are the heads of the panel's table: the name, and the state of kinds that have one.
	columns []string
	// call reads at most ten objects that a filter selects, and results returns them.
	call    func(filter apicall.JSON) apicall.Call
	results func(r *page.Request, call apicall.Call) []found
}

// maxFound is the number of objects of a kind that a search shows.
const maxFound = 10

// searchedKind describes a kind of object. The field is the filter's name in the body; sort is empty where the order is fixed.
func searchedKind[List proto.Message, T any](title, rpc, field, sort string, columns []string, items func(List) []T, describe func(*page.Request, T) found) searched {
	return searched{
		title: title, rpc: rpc, columns: columns,
		call: func(filter apicall.JSON) apicall.Call {
			body := apicall.JSON{field: filter, "limit": maxFound}
			if sort != "" {
				body["sort"] = sort
			}
			return apicall.New[List](rpc, apicall.Input{Body: body})
		},
		results: func(r *page.Request, call apicall.Call) []found {
			var all []found
			for _, item := range items(call.(*apicall.Unary[List]).Result()) {
				all = append(all, describe(r, item))
			}
			return all
		},
	}
}

var named, stated = []string{"Name"}, []string{"Name", "State"}

// searchedKinds are the kinds in the order of their panels.
var searchedKinds = []searched{
	searchedKind("Flows", orchv1.FlowService_ReadFlows_FullMethodName, "flows", "NAME_ASC", named, (*orchv1.FlowList).GetFlows,
		func(r *page.Request, f *orchv1.Flow) found {
			return found{name: f.GetName(), link: r.To("flows", "flow", f.GetId())}
		}),
	searchedKind("Deployments", orchv1.DeploymentService_ReadDeployments_FullMethodName, "deployments", "NAME_ASC", named, (*orchv1.DeploymentList).GetDeployments,
		func(r *page.Request, d *orchv1.Deployment) found {
			return found{name: d.GetName(), link: r.To("deployments", "deployment", d.GetId())}
		}),
	searchedKind("Runs", orchv1.FlowRunService_ReadFlowRuns_FullMethodName, "flow_runs", "EXPECTED_START_TIME_DESC", stated, (*orchv1.FlowRunList).GetFlowRuns,
		func(r *page.Request, run *orchv1.FlowRun) found {
			return found{run.GetName(), r.To("runs", "flow-run", run.GetId()), mark(show.State(run.GetStateType(), run.GetStateName()))}
		}),
	searchedKind("Webhooks", orchv1.WebhookService_ReadWebhooks_FullMethodName, "webhooks", "", stated, (*orchv1.WebhookList).GetWebhooks,
		func(r *page.Request, w *orchv1.Webhook) found {
			return found{w.GetName(), r.To("webhooks", "webhook", w.GetId()), text(enumWord(w.GetHealth().GetStatus()))}
		}),
}

// searchedTasks are found by id alone: their names are those of their tasks, and a part of one selects too many.
var searchedTasks = searchedKind("Task runs", orchv1.TaskRunService_ReadTaskRuns_FullMethodName, "task_runs", "", stated, (*orchv1.TaskRunList).GetTaskRuns,
	func(r *page.Request, run *orchv1.TaskRun) found {
		return found{run.GetName(), r.To("runs", "task-run", run.GetId()), mark(show.State(run.GetStateType(), run.GetStateName()))}
	})

// searchPage finds objects by a part of their name. An id leads to its object.
func searchPage() page.Page {
	uses := []string{searchedTasks.rpc}
	for _, kind := range searchedKinds {
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
	kinds, filter := searchedKinds, apicall.JSON{"name": apicall.JSON{"like_": q}}
	id, err := uuid.Parse(q)
	isID := err == nil
	if isID {
		v.Hint = "No run, flow, deployment or webhook of this workspace has this id."
		kinds, filter = append(slices.Clone(kinds), searchedTasks), apicall.JSON{"id": any_([]string{id.String()})}
	}
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(kind searched) bool { return !r.May(kind.rpc) })
	var calls []apicall.Call
	for _, kind := range kinds {
		calls = append(calls, kind.call(filter))
	}
	_ = r.Call(calls...) // Each panel says what it misses.
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
