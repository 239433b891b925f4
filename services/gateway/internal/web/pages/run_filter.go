package pages

import (
	"slices"
	"time"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/param"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// lateName is the name of the SCHEDULED state of a run that is overdue. The parameter state accepts it like a type.
const lateName = "Late"

// runFilter is the selection of flow runs in an address.
type runFilter struct {
	Window      param.Window
	States      []string
	Late        bool
	Flows       []string // Ids.
	Deployments []string // Ids.
	Pools       []string // Names.
	Tags        []string
	Q           string
	Rows        int
	Older       param.Position
}

// selectionParameters are the parameters of an address that select runs, besides the window, and their zone.
var selectionParameters = []string{"state", "flow", "deployment", "pool", "tag", "q", "tz"}

// runStateWords are the values of the parameter state.
func runStateWords() []string { return append(show.StateWords(), "LATE") }

// stateWords are the chosen values of the parameter state.
func (f runFilter) stateWords() []string {
	if f.Late {
		return append(slices.Clone(f.States), "LATE")
	}
	return f.States
}

// readRunFilter reads the selection of the address, and finds the flows and deployments that it names.
func readRunFilter(r *page.Request) (runFilter, error) {
	f := runFilter{
		Window: r.Window(),
		Pools:  r.Texts("pool"),
		Tags:   r.Texts("tag"),
		Q:      r.Text("q"),
		Rows:   r.Rows(),
		Older:  r.Older(),
	}
	flows, deployments := r.Texts("flow"), r.Texts("deployment")
	for _, name := range r.Words("state", runStateWords()...) {
		if name == "LATE" {
			f.Late = true
		} else {
			f.States = append(f.States, name)
		}
	}
	if err := r.Err(); err != nil {
		return f, err
	}
	var err error
	if f.Flows, err = flowIDs(r, flows); err != nil {
		return f, err
	}
	f.Deployments, err = deploymentIDs(r, deployments)
	return f, err
}

// any selects one of several values.
func any_(values []string) apicall.JSON { return apicall.JSON{"any_": values} }

// runs is the filter on the runs themselves, with a time of start within the window and not after before.
func (f runFilter) runs(before time.Time) apicall.JSON {
	runs := apicall.JSON{"expected_start_time": apicall.JSON{"after_": f.Window.From, "before_": before}}
	if state := f.state(); state != nil {
		runs["state"] = state
	}
	if len(f.Tags) > 0 {
		runs["tags"] = apicall.JSON{"all_": f.Tags}
	}
	if len(f.Deployments) > 0 {
		runs["deployment_id"] = any_(f.Deployments)
	}
	switch id, err := uuid.Parse(f.Q); {
	case f.Q == "":
	case err == nil:
		runs["id"] = any_([]string{id.String()})
	default:
		runs["name"] = apicall.JSON{"like_": f.Q}
	}
	return runs
}

func (f runFilter) state() apicall.JSON {
	switch {
	case f.Late && len(f.States) > 0:
		return apicall.JSON{"operator": "or_", "type": any_(f.States), "name": any_([]string{lateName})}
	case f.Late:
		return apicall.JSON{"name": any_([]string{lateName})}
	case len(f.States) > 0:
		return apicall.JSON{"type": any_(f.States)}
	}
	return nil
}

// body is the body of a call that takes a selection of runs.
func (f runFilter) body(before time.Time) apicall.JSON {
	body := f.related()
	body["flow_runs"] = f.runs(before)
	return body
}

// related selects the flows and the work pools of the runs.
func (f runFilter) related() apicall.JSON {
	body := apicall.JSON{}
	if len(f.Flows) > 0 {
		body["flows"] = apicall.JSON{"id": any_(f.Flows)}
	}
	if len(f.Pools) > 0 {
		body["work_pools"] = apicall.JSON{"name": any_(f.Pools)}
	}
	return body
}

// list is the body of the call for the page's rows. It asks for one more row, which tells whether there are older ones. The
// largest page cannot: the API returns at most as many rows.
func (f runFilter) list() apicall.JSON {
	before := f.Window.To
	if !f.Older.First() && f.Older.Before.Before(before) {
		before = f.Older.Before
	}
	body := f.body(before)
	body["sort"], body["limit"], body["offset"] = "EXPECTED_START_TIME_DESC", min(f.Rows+1, param.MaxRows), f.Older.Skip
	return body
}

// page selects the rows from what list returned, and the position of older ones; the zero position means none. A full page
// of the largest size may have none.
func (f runFilter) page(read []*orchv1.FlowRun) (rows []*orchv1.FlowRun, older param.Position) {
	rows, more := cut(read, f.Rows)
	if !more && len(read) < param.MaxRows {
		return rows, param.Position{}
	}
	var times []time.Time
	for _, run := range rows {
		times = append(times, run.GetExpectedStartTime().AsTime())
	}
	return rows, f.Older.After(times)
}
