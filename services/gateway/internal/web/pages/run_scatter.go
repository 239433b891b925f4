package pages

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/web/apicall"
	"github.com/orch-project/orch/services/gateway/internal/web/chart"
	"github.com/orch-project/orch/services/gateway/internal/web/page"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// scatterView is the chart of every run on a page: an image that leads to the runs of a click, and to its numbers.
type scatterView struct {
	Image, Click  string
	Width, Height int
	Caption       string
}

const scatterRPC = orchv1.UiFlowService_ReadFlowRunScatter_FullMethodName

// scatterPages are the image of the scatter, and the page that a click on it leads to.
func scatterPages() []page.Page {
	return []page.Page{
		{Pattern: "/runs/scatter.svg", Section: "/runs", Needs: []string{scatterRPC}, Uses: runFilterCalls, Serve: serveScatter},
		{Pattern: "/runs/scatter", Section: "/runs", Needs: []string{scatterRPC}, Uses: runFilterCalls, Show: showScatter},
	}
}

// newScatterView returns the scatter of the runs that a page selects; nil if the reader may not see it. The image has the window
// of the page, so what it shows does not depend on when the browser loads it.
func newScatterView(r *page.Request, f runFilter) *scatterView {
	if !r.May(scatterRPC) {
		return nil
	}
	query := r.HTTP.URL.Query()
	window := chartWindow(f.Window)
	view := url.Values{"from": {stamp(window.From)}, "to": {stamp(window.To)}}
	for _, name := range selectionParameters {
		if len(query[name]) > 0 {
			view[name] = query[name]
		}
	}
	return &scatterView{
		Image: r.To("runs", "scatter.svg") + "?" + view.Encode(), Click: r.To("runs", "scatter") + "?" + view.Encode(),
		Width: chart.ScatterWidth, Height: chart.ScatterHeight, Caption: "Every run by expected start and duration",
	}
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
	question := apicall.NewShared[*orchv1.FlowRunScatter](scatterRPC, apicall.Input{Body: f.scatterBody()})
	if err := r.Call(question); err != nil {
		return nil, chart.Scatter{}, err
	}
	a := question.Result()
	s := chart.Scatter{
		From: f.Window.From, To: f.Window.To, Rows: a.GetRows(), Shortest: a.GetShortest(), Longest: a.GetLongest(), Count: a.GetCount(), Clock: clockOf(r),
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

// clicked returns the coordinates that a browser appends to the address of an image's link: "…?x,y".
func clicked(r *page.Request) (x, y int, ok bool) {
	at := strings.LastIndexByte(r.HTTP.URL.RawQuery, '?')
	left, top, found := strings.Cut(r.HTTP.URL.RawQuery[at+1:], ",")
	x, errX := strconv.Atoi(left)
	y, errY := strconv.Atoi(top)
	return x, y, at >= 0 && found && errX == nil && errY == nil
}

// withoutClick returns the request without the coordinates of a click, which belong to no parameter.
func withoutClick(r *page.Request) *page.Request {
	address := *r.HTTP.URL
	address.RawQuery = address.RawQuery[:strings.LastIndexByte(address.RawQuery, '?')]
	clone := *r
	clone.HTTP = r.HTTP.Clone(r.HTTP.Context())
	clone.HTTP.URL = &address
	clone.Reader = r.Again(address.Query())
	return &clone
}

// showScatter leads a click to the runs of its spot. Without a click it shows the longest runs and the largest cells.
func showScatter(r *page.Request) (page.View, error) {
	x, y, isClick := clicked(r)
	if isClick {
		r = withoutClick(r)
	}
	answer, s, err := readScatter(r)
	if err != nil {
		return page.View{}, err
	}
	if isClick {
		return clickedRuns(r, answer, s, x, y), nil
	}
	return page.View{Title: "Scatter of runs", Template: "list.html", Data: scatterTable(r, answer, s)}, nil
}

// clickedRuns redirects to the run of a cell with one run, else to the runs of the cell's time.
func clickedRuns(r *page.Request, answer *orchv1.FlowRunScatter, s chart.Scatter, x, y int) page.View {
	found, ok := s.At(x, y)
	if !ok {
		return page.View{Redirect: r.To("runs") + "?" + r.HTTP.URL.RawQuery}
	}
	for _, c := range answer.GetCells() {
		if c.GetCount() == 1 && c.GetColumn() == found.Column && c.GetRow() == found.Row && strings.EqualFold(show.StateWord(c.GetStateType()), found.Class) {
			return page.View{Redirect: r.To("runs", "flow-run", c.GetFlowRunIds()[0])}
		}
	}
	return page.View{Redirect: cellLink(r, s, found)}
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
