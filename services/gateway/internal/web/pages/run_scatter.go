package pages

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/chart"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/param"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

const scatterRPC = orchv1.UiFlowService_ReadFlowRunScatter_FullMethodName

// untilParameter is the end of the axis of an image, which may be after its window.
const untilParameter = "until"

// scatterPages are the image of the scatter, and the page with its numbers.
func scatterPages() []page.Page {
	return []page.Page{
		{Pattern: "/runs/scatter.svg", Section: "/runs", Needs: []string{scatterRPC}, Uses: runFilterCalls, Serve: serveScatter},
		{Pattern: "/runs/scatter", Section: "/runs", Needs: []string{scatterRPC}, Uses: runFilterCalls, Show: showScatter},
	}
}

// scatterImage returns the image of the runs that a page selects, with an axis until a time; nil if the reader may not see it. The
// image has the window of the page, so what it shows does not depend on when the browser loads it.
func scatterImage(r *page.Request, window param.Window, until time.Time) *chart.Image {
	if !r.May(scatterRPC) {
		return nil
	}
	query := runsQuery(r, window.From, window.To)
	numbers := r.To("runs", "scatter") + "?" + query.Encode()
	query.Set(untilParameter, stamp(until))
	return &chart.Image{Source: r.To("runs", "scatter.svg") + "?" + query.Encode(), Numbers: numbers, Caption: "Every run by expected start and duration"}
}

// runsQuery selects the runs of a part of the time among those that the page shows.
func runsQuery(r *page.Request, from, to time.Time) url.Values {
	query := url.Values{"from": {stamp(from)}, "to": {stamp(to)}}
	for _, name := range selectionParameters {
		if values := r.HTTP.URL.Query()[name]; len(values) > 0 {
			query[name] = values
		}
	}
	return query
}

// scatterBody is the body of the call for the scatter of the filter.
func (f runFilter) scatterBody() apicall.JSON {
	body := f.body(f.Window.To)
	delete(body["flow_runs"].(apicall.JSON), "expected_start_time") // The window decides it.
	body["start"], body["end"] = f.Window.From, f.Window.To
	body["columns"], body["rows"] = chart.ScatterColumns, chart.ScatterRows
	return body
}

// readScatter reads the scatter of the runs that the address selects.
func readScatter(r *page.Request) (*orchv1.FlowRunScatter, chart.Scatter, error) {
	f, err := readRunFilter(r)
	if err != nil {
		return nil, chart.Scatter{}, err
	}
	until := latest(f.Window.To, r.Time(untilParameter))
	if err := r.Err(); err != nil {
		return nil, chart.Scatter{}, err
	}
	question := apicall.NewShared[*orchv1.FlowRunScatter](scatterRPC, apicall.Input{Body: f.scatterBody()})
	if err := r.Call(question); err != nil {
		return nil, chart.Scatter{}, err
	}
	a := question.Result()
	s := chart.Scatter{
		From: f.Window.From, To: f.Window.To, Until: until, Rows: a.GetRows(), Shortest: a.GetShortest(), Longest: a.GetLongest(), Count: a.GetCount(), Clock: clockOf(r),
		Cells: make([]chart.Cell, 0, len(a.GetCells())),
	}
	for _, c := range a.GetCells() {
		s.Cells = append(s.Cells, chart.Cell{Column: c.GetColumn(), Row: c.GetRow(), Class: strings.ToLower(show.StateWord(c.GetStateType())), N: c.GetCount()})
	}
	return a, s, nil
}

func serveScatter(w http.ResponseWriter, r *page.Request) error {
	_, s, err := readScatter(r)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "private, no-cache") // The runs of the window may change.
	r.Write(w, "image/svg+xml", []byte(s.Image().Source()))
	return nil
}

// showScatter lists the longest runs and the largest cells.
func showScatter(r *page.Request) (page.View, error) {
	answer, s, err := readScatter(r)
	if err != nil {
		return page.View{}, err
	}
	return page.View{Title: "Scatter of runs", Template: "list.html", Data: scatterTable(r, answer, s)}, nil
}

// cellLink leads to the runs of a state that start in a column.
func cellLink(r *page.Request, s chart.Scatter, c chart.Cell) string {
	from, to := s.Column(c.Column)
	query := r.HTTP.URL.Query()
	query.Set("from", stamp(from))
	query.Set("to", stamp(to))
	query["state"] = []string{strings.ToUpper(c.Class)}
	return r.To("runs") + "?" + query.Encode()
}

// scatterTable lists the cells with the longest runs, then those with the most.
func scatterTable(r *page.Request, answer *orchv1.FlowRunScatter, s chart.Scatter) listView {
	const most = 20
	v := listView{
		Title: "Scatter of runs", Intro: show.Plural(s.Count, "run", "runs") + " of the window: the longest ones, then where most of them are.",
		Path: r.Path(), Table: table{Columns: []string{"State", "Start", "Took", "Runs", "Flow runs"}, Empty: "No run in this window."},
		Links: []tab{{Title: "Runs", Path: r.To("runs") + "?" + r.HTTP.URL.RawQuery}},
	}
	order := make([]int, len(s.Cells))
	for i := range order {
		order[i] = i
	}
	add := func(order []int) {
		for _, i := range order[:min(len(order), most)] {
			c, counted := s.Cells[i], answer.GetCells()[i]
			from, _ := s.Column(c.Column)
			shortest, longest := s.Durations(c.Row)
			took := show.Duration(shortest)
			if end := show.Duration(longest); end != took {
				took += " to " + end
			}
			ids := cell{}
			for n, id := range counted.GetFlowRunIds() {
				if n == 0 {
					ids = link(r.To("runs", "flow-run", id), id)
				}
			}
			v.Table.add(mark(show.State(counted.GetStateType(), "")), mark(clockOf(r).At(from)), text(took),
				cell{Markup: show.Link(cellLink(r, s, c), show.Count(c.N)), Number: true}, ids)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.Cells[b].Row, s.Cells[a].Row) })
	add(order)
	if len(order) > most {
		rest := slices.Clone(order[most:])
		slices.SortStableFunc(rest, func(a, b int) int { return cmp.Compare(s.Cells[b].N, s.Cells[a].N) })
		add(rest)
	}
	return v
}
