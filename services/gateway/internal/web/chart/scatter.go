package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

const (
	// ScatterHeight is the height of the image in pixels. Its width is that of the page: positions in it are per cents.
	ScatterHeight = 220
	// ScatterColumns is the number of columns of the grid.
	ScatterColumns = 476
	// ScatterRows is the largest number of rows of the grid.
	ScatterRows = 104

	// gutter is the width of the vertical axis in pixels. The style sheet has the same for the figure around the image.
	gutter              = 48
	plotTop, plotBottom = 6, plotTop + 2*ScatterRows
	// fewRuns is the number of runs up to which marks are larger, and those of failures have a shape of their own.
	fewRuns = 5000
)

// Cell counts runs of one state at a place of the grid. Row 0 has the shortest durations.
type Cell struct {
	Column, Row int64
	// Class is the lower-case state.
	Class string
	N     int64
}

// Scatter shows every run of a window by its start and the logarithm of its duration.
type Scatter struct {
	From, To time.Time
	// Until is the end of the axis, which may be after the window.
	Until time.Time
	// Rows is the number of rows of the grid, and Shortest and Longest are the durations in seconds at its edges.
	Rows              int64
	Shortest, Longest float64
	Cells             []Cell
	Count             int64
	Clock             show.Clock
}

// scatterOrder draws the states of interest above the others.
var scatterOrder = []string{"scheduled", "pending", "completed", "running", "paused", "cancelled", "cancelling", "crashed", "failed"}

// scatterStyle is the style of the image, which has no style sheet of its own. Its colours are those of orch.css. A dot is a line
// without length and with round ends.
const scatterStyle = `<style>:root{color-scheme:light dark}svg{overflow:visible}text{font:11px system-ui,sans-serif;fill:light-dark(#565b62,#a4aab2)}` +
	`path{fill:none;stroke-linecap:round;stroke-width:2px}.few path{stroke-width:4.4px}.few .failed path,.few .crashed path{stroke-width:1.6px}.n{opacity:.7}` +
	`.g{stroke:light-dark(#e6e5e0,#24282c)}.ahead{fill:light-dark(#f4f4f1,#181b1e)}.now{stroke:light-dark(#565b62,#a4aab2);stroke-dasharray:2 3;stroke-width:1px}` +
	`.scheduled,.pending,.cancelling,.cancelled{stroke:light-dark(#878c94,#7b818a)}.running{stroke:light-dark(#3a7fe0,#4b8ced)}.completed{stroke:light-dark(#379d68,#3ea873)}` +
	`.failed{stroke:light-dark(#dc4437,#ea5c50)}.crashed{stroke:light-dark(#d2650a,#e27c2b)}.paused{stroke:light-dark(#8a5cd8,#9a72e6)}</style>`

// durationTicks are the durations of the vertical axis, in seconds.
var durationTicks = []float64{0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 36_000, 86_400, 604_800}

// Image returns the scatter as an SVG document. It has no view box, so that text and marks keep their size at every width.
func (s Scatter) Image() markup.Markup {
	var b markup.Builder
	b.Raw(fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="100%%" height="%d">`, ScatterHeight), scatterStyle)
	s.durations(&b)
	axis := timeAxis{s.From, s.Until, s.Clock}
	if now, future := axis.now(); future {
		b.Raw(fmt.Sprintf(`<svg x="%s%%"><rect class="ahead" x="%d" y="%d" width="100%%" height="%d"/><path class="now" d="M%[2]d %[3]dV%[5]d"/></svg>`,
			percent(now), afterGutter(now), plotTop, plotBottom-plotTop, plotBottom))
	}
	if s.Count == 0 {
		b.Raw(fmt.Sprintf(`<text x="%d" y="%d">`, gutter+8, plotTop+24)).Text("No run in this window.").Raw("</text>")
	}
	few := s.Count <= fewRuns
	if few {
		b.Raw(`<g class="few">`)
	} else {
		b.Raw("<g>")
	}
	for _, class := range scatterOrder {
		for _, many := range []bool{false, true} {
			s.marks(&b, axis, class, many, few)
		}
	}
	return b.Raw("</g></svg>").Markup()
}

// durations draws the vertical axis and its lines.
func (s Scatter) durations(b *markup.Builder) {
	line := func(y float64) {
		b.Raw(fmt.Sprintf(`<line class="g" x1="%d" x2="100%%" y1="%[2]s" y2="%[2]s"/>`, gutter, number(y)))
	}
	for _, seconds := range durationTicks {
		if s.Rows == 0 || seconds < s.Shortest || seconds > s.Longest {
			continue
		}
		y := s.y(math.Log(seconds/s.Shortest) / math.Log(s.Longest/s.Shortest) * float64(s.Rows))
		line(y)
		b.Raw(fmt.Sprintf(`<text x="%d" y="%s" text-anchor="end">`, gutter-6, number(y+4))).Text(show.Duration(time.Duration(seconds * float64(time.Second)))).Raw("</text>")
	}
	line(plotBottom)
}

// y returns the pixel of a row. A grid of few rows uses the whole height.
func (s Scatter) y(row float64) float64 {
	return plotBottom - row/float64(max(s.Rows, 1))*(plotBottom-plotTop)
}

// marks draws the cells of a state, those with one run or those with several: a path for each column.
func (s Scatter) marks(b *markup.Builder, axis timeAxis, class string, many, few bool) {
	var cells []Cell
	for _, c := range s.Cells {
		if c.Class == class && (c.N > 1) == many {
			cells = append(cells, c)
		}
	}
	if len(cells) == 0 {
		return
	}
	slices.SortFunc(cells, func(a, b Cell) int { return cmp.Or(cmp.Compare(a.Column, b.Column), cmp.Compare(a.Row, b.Row)) })
	name := class
	if !many {
		name += " n"
	}
	b.Raw(`<g class="`, name, `">`)
	for i := 0; i < len(cells); {
		column := cells[i].Column
		from, to := s.Column(column)
		x := axis.at(from.Add(to.Sub(from) / 2))
		var path []byte
		for ; i < len(cells) && cells[i].Column == column; i++ {
			path = appendMark(path, class, afterGutter(x), int(s.y(float64(cells[i].Row)+0.5)), few)
		}
		b.Raw(`<svg x="`, percent(x), `%"><path d="`, string(path), `"/></svg>`)
	}
	b.Raw("</g>")
}

// appendMark appends the mark of a cell to a path: a cross for failures, a triangle for crashes, a dot for the others.
func appendMark(path []byte, class string, x, y int, few bool) []byte {
	switch {
	case few && class == "failed":
		return fmt.Appendf(path, "M%d %dl6 6m0-6l-6 6", x-3, y-3)
	case few && class == "crashed":
		return fmt.Appendf(path, "M%d %dl3 5h-6z", x, y-3)
	}
	return fmt.Appendf(path, "M%d %dh0", x, y)
}

// afterGutter returns the pixels that a position in per cents of the image lacks to one in per cents of the rest beside the gutter.
func afterGutter(x float64) int { return int(math.Round(gutter * (1 - x/100))) }

// Column returns the part of the window of a column.
func (s Scatter) Column(column int64) (from, to time.Time) {
	part := s.To.Sub(s.From) / ScatterColumns
	from = s.From.Add(part * time.Duration(column))
	return from, from.Add(part)
}

// Durations returns the range of durations of a row.
func (s Scatter) Durations(row int64) (shortest, longest time.Duration) {
	edge := func(row int64) time.Duration {
		seconds := s.Shortest * math.Pow(s.Longest/s.Shortest, float64(row)/float64(max(s.Rows, 1)))
		return time.Duration(seconds * float64(time.Second))
	}
	return edge(row), edge(row + 1)
}
