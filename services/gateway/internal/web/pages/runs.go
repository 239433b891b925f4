package pages

import (
	"slices"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/chart"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
)

// runPages are the pages of runs, flows, deployments and what they use.
func runPages() []page.Page {
	return slices.Concat([]page.Page{homePage(), searchPage(), runsPage(), upcomingPage()}, scatterPages(), flowRunPages(), taskRunPages(), flowPages(), deploymentPages(),
		workPoolPages(), automationPages(), destinationPages(), artifactPages(), variablePages(), blockPages(), limitPages(), accountPages(), sessionPages())
}

// runsView is the data of the list of runs.
type runsView struct {
	Figure markup.Markup
	Charts []tab
	Rows   []runRow
	Older  string
	Newest string
	States []choice
	// StateText words the chosen states.
	StateText string
	Windows   []choice
	Q         string
	// The values of repeatable fields, one at least each.
	Flows, Deployments, Pools, Tags []string
	Hidden                          []hiddenField
	Path                            string
	// Upcoming leads to the runs that have not started.
	Upcoming string
	Problems []string
	// Bulk are the buttons for ticked rows that the reader may use, and BulkAll those for all runs that match.
	Bulk, BulkAll []button
	Views         []savedView
	// MaySaveView and MayDeleteView follow from the reader's role.
	MaySaveView, MayDeleteView bool
	ActionPath                 string
	Filtered                   bool
}

// hiddenField carries a parameter of the address through a filter form.
type hiddenField struct{ Name, Value string }

func runsPage() page.Page {
	return page.Page{
		Pattern: "/runs",
		Section: "/runs",
		Live:    "runs",
		Needs:   []string{orchv1.FlowRunService_ReadFlowRuns_FullMethodName},
		Uses: append([]string{
			scatterRPC, orchv1.FlowRunService_CountFlowRuns_FullMethodName,
			orchv1.SavedSearchService_ReadSavedSearches_FullMethodName,
		}, slices.Concat(runRowCalls, runFilterCalls)...),
		Show:    showRuns,
		Actions: slices.Concat(bulkActions(), bulkAllActions(), viewActions()),
	}
}

func showRuns(r *page.Request) (page.View, error) {
	kind := r.Word("chart", "scatter", "histogram")
	f, err := readRunFilter(r)
	if err != nil {
		return page.View{}, err
	}
	runs := apicall.New[*orchv1.FlowRunList](orchv1.FlowRunService_ReadFlowRuns_FullMethodName, apicall.Input{Body: f.list()})
	charted := f
	charted.Window = chartWindow(f.Window)
	var image *chart.Image
	if kind == "scatter" {
		image = scatterImage(r, charted.Window, charted.Window.To)
	}
	histogram := histogramCall(charted, bars(charted.Window))
	searches := apicall.New[*orchv1.SavedSearchList](orchv1.SavedSearchService_ReadSavedSearches_FullMethodName, apicall.Input{Body: apicall.JSON{}})
	calls := []apicall.Call{runs, searches}
	if image == nil {
		calls = append(calls, histogram)
	}
	_ = r.Call(calls...)
	if err := runs.Err(); err != nil {
		return page.View{}, err
	}
	list, older := f.page(runs.Result().GetFlowRuns())
	v := runsView{
		Rows: runRows(r, list, true), States: stateChoices(runStateWords(), f.stateWords()), StateText: stateText(f.stateWords()), Windows: windows(f.Window.Text), Q: f.Q, Tags: fieldsFor(f.Tags),
		Flows: fieldsFor(r.Texts("flow")), Deployments: fieldsFor(r.Texts("deployment")), Pools: fieldsFor(f.Pools),
		Path: r.Path(), Upcoming: upcomingLink(r), Problems: problems(histogram), ActionPath: r.Here(),
		Hidden:   hiddenFields(r, "to", "n", "tz", "chart"),
		Filtered: len(f.States)+len(f.Flows)+len(f.Deployments)+len(f.Pools)+len(f.Tags) > 0 || f.Late || f.Q != "",
	}
	for _, action := range bulkActions() {
		if r.May(action.Calls...) && len(v.Rows) > 0 {
			title := map[string]string{"cancel-runs": "Cancel", "retry-runs": "Retry", "delete-runs": "Delete"}[action.Name]
			v.Bulk = append(v.Bulk, button{Action: action.Name, Title: title})
		}
	}
	for _, c := range bulkChanges() {
		if r.May(c.rpc) && len(v.Rows) > 0 {
			v.BulkAll = append(v.BulkAll, button{Action: c.action, Title: c.title + " all…"})
		}
	}
	v.Views = views(r, searches.Result().GetSavedSearches())
	v.MaySaveView = r.May(orchv1.SavedSearchService_CreateSavedSearch_FullMethodName) && len(viewQuery(r.HTTP.URL.Query())) > 0
	v.MayDeleteView = r.May(orchv1.SavedSearchService_DeleteSavedSearch_FullMethodName)
	v.Charts = []tab{
		{Title: "Scatter", Path: r.Here("chart", ""), Current: kind == "scatter"}, {Title: "Histogram", Path: r.Here("chart", "histogram"), Current: kind == "histogram"},
	}
	switch {
	case image != nil:
		v.Figure = runFigure(r, charted.Window, nil, image, image.Caption)
	case histogram.Err() == nil:
		v.Figure = runFigure(r, charted.Window, histogram.Result(), nil, "Runs by expected start, stacked by state")
	}
	if !older.First() {
		v.Older = r.Here("older", older.String())
	}
	if !f.Older.First() {
		v.Newest = r.Here()
	}
	return page.View{Title: "Runs", Template: "runs.html", Data: v}, nil
}

// fieldsFor returns the values of the fields of a repeatable parameter: one field at least.
func fieldsFor(values []string) []string {
	if len(values) == 0 {
		return []string{""}
	}
	return values
}

// cut returns at most n items, and whether there were more.
func cut[T any](items []T, n int) ([]T, bool) {
	if len(items) > n {
		return items[:n], true
	}
	return items, false
}
