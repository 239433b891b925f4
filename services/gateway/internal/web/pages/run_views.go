package pages

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// Views of the list of runs are saved searches: one filter for each value of a parameter of the address. Other clients' saved
// searches have other properties and are not listed.
const (
	viewObject    = "flow_run"
	viewOperation = "equals"
	viewType      = "parameter"
)

// viewParameters are the parameters of the list of runs that a view keeps.
var viewParameters = append([]string{"from", "to", "n", "chart"}, selectionParameters...)

// savedView is a view that somebody saved.
type savedView struct {
	ID, Name, Link string
	Current        bool
}

func viewActions() []page.Action {
	return []page.Action{
		{Name: "save-view", Calls: []string{orchv1.SavedSearchService_CreateSavedSearch_FullMethodName}, Done: "The view is saved.", Do: saveView},
		{Name: "delete-view", Calls: []string{orchv1.SavedSearchService_DeleteSavedSearch_FullMethodName}, Done: "The view is deleted.", Do: deleteView},
	}
}

// views returns the saved views of the workspace, by name.
func views(r *page.Request, searches []*orchv1.SavedSearch) []savedView {
	here := viewQuery(r.HTTP.URL.Query()).Encode()
	var all []savedView
	for _, s := range searches {
		query, ok := parametersOf(s)
		if !ok {
			continue
		}
		all = append(all, savedView{
			ID: s.GetId(), Name: show.Line(s.GetName(), 60), Link: r.To("runs") + "?" + query.Encode(), Current: query.Encode() == here,
		})
	}
	return all
}

// viewQuery returns the parameters that a view keeps.
func viewQuery(query url.Values) url.Values {
	view := url.Values{}
	for _, name := range viewParameters {
		for _, value := range query[name] {
			if value != "" {
				view.Add(name, value)
			}
		}
	}
	return view
}

// parametersOf returns the parameters of a view; false for a saved search of another client.
func parametersOf(s *orchv1.SavedSearch) (url.Values, bool) {
	query := url.Values{}
	for _, f := range s.GetFilters() {
		var value string
		if f.GetObject() != viewObject || f.GetType() != viewType || json.Unmarshal(f.GetValue(), &value) != nil {
			return nil, false
		}
		query.Add(f.GetProperty(), value)
	}
	return viewQuery(query), len(s.GetFilters()) > 0
}

// saveView saves the address of the page under a name. An existing view of the name is replaced.
func saveView(r *page.Request) (page.View, error) {
	name := r.Field("view")
	query := viewQuery(r.HTTP.URL.Query())
	if name == "" || len(query) == 0 {
		return page.View{}, rpc.Detail(http.StatusUnprocessableEntity, "A view needs a name and a filter. Filter the runs first, then save the view.")
	}
	var filters []apicall.JSON
	for _, parameter := range viewParameters {
		for _, value := range query[parameter] {
			filters = append(filters, apicall.JSON{"object": viewObject, "property": parameter, "type": viewType, "operation": viewOperation, "value": value})
		}
	}
	saved := apicall.New[*orchv1.SavedSearch](orchv1.SavedSearchService_CreateSavedSearch_FullMethodName, apicall.Input{Body: apicall.JSON{"name": name, "filters": filters}})
	if err := r.Call(saved); err != nil {
		return page.View{}, err
	}
	return r.Done(r.Here(), "save-view", -1), nil
}

func deleteView(r *page.Request) (page.View, error) {
	id, err := uuid.Parse(r.Field("view"))
	if err != nil {
		return page.View{}, rpc.Detail(http.StatusUnprocessableEntity, "The form names no view.")
	}
	if !confirmed(r) {
		return confirm(r, confirmView{
			Title: "Delete the view?", Text: "It disappears for everybody in this workspace. The runs stay.", Button: "Delete the view", Action: "delete-view",
			Fields: []hiddenField{{"view", id.String()}},
		}), nil
	}
	if err := r.Call(apicall.New[empty](orchv1.SavedSearchService_DeleteSavedSearch_FullMethodName, apicall.ID(strings.ToLower(id.String())))); err != nil {
		return page.View{}, err
	}
	return r.Done(r.Here(), "delete-view", -1), nil
}
