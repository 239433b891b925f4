package chart

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// The size of a scatter in pixels. It is fixed, so that a click on the image has known coordinates without a script.
const (
	// ScatterWidth is the width of the image.
	ScatterWidth = 1000
	// ScatterHeight is the height of the image.
	ScatterHeight = 240
	// ScatterColumns is the number of columns of the grid.
	ScatterColumns = 476
	// ScatterRows is the largest number of rows of the grid.
	ScatterRows = 104

	cellSize          = 2
	plotLeft, plotTop = 48, 6
	plotBottom        = plotTop + ScatterRows*cellSize
	// fewRuns is the number of runs up to which marks are larger.
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
	// Rows is the number of rows of the grid, and Shortest and Longest are the durations in seconds at its edges.
	Rows              int64
	Shortest, Longest float64
	Cells             []Cell
	Count             int64
	Clock             show.Clock
}

// scatterOrder draws the states of interest above the others.
var scatterOrder = []string{"scheduled", "pending", "completed", "running", "paused", "cancelled", "cancelling", "crashed", "failed"}

// scatterStyle is the style of the image, which has no style sheet of its own. Its colours are those of orch.css.
const scatterStyle = `<style>:root{color-scheme:light dark}text{font:11px system-ui,sans-serif;fill:light-dark(#565b62,#a4aab2)}.g{stroke:light-dark(#e6e5e0,#24282c)}.n{fill-opacity:.7}` +
	`.scheduled,.pending,.cancelling,.cancelled{fill:light-dark(#878c94,#7b818a)}.running{fill:light-dark(#3a7fe0,#4b8ced)}.completed{fill:light-dark(#379d68,#3ea873)}` +
	`.failed{fill:light-dark(#dc4437,#ea5c50)}.crashed{fill:light-dark(#d2650a,#e27c2b)}.paused{fill:light-dark(#8a5cd8,#9a72e6)}</style>`

// durationTicks are the durations of the vertical axis, in seconds.
var durationTicks = []float64{0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 36_000, 86_400, 604_800}

// Image returns the scatter as an SVG document.
func (s Scatter) Image() markup.Markup {
	var b markup.Builder
	b.Raw(fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d">`, ScatterWidth, ScatterHeight), scatterStyle)
	s.axes(&b)
	if s.Count == 0 {
		b.Raw(fmt.Sprintf(`<text x="%d" y="%d">`, plotLeft+8, plotTop+24)).Text("No run in this window.").Raw("</text>")
	}
	b.Raw(`<g shape-rendering="crispEdges">`)
	for _, class := range scatterOrder {
		for _, many := range []bool{false, true} {
			s.marks(&b, class, many)
		}
	}
	return b.Raw("</g></svg>").Markup()
}

// axes draws the ticks of both axes.
func (s Scatter) axes(b *markup.Builder) {
	for _, seconds := range durationTicks {
		if s.Rows == 0 || seconds < s.Shortest || seconds > s.Longest {
			continue
		}
		y := s.y(math.Log(seconds/s.Shortest) / math.Log(s.Longest/s.Shortest) * float64(s.Rows))
		b.Raw(fmt.Sprintf(`<path class="g" d="M%d %sH%d"/><text x="%d" y="%s" text-anchor="end">`,
			plotLeft, number(y), ScatterWidth, plotLeft-6, number(y+4))).Text(show.Duration(time.Duration(seconds * float64(time.Second)))).Raw("</text>")
	}
	b.Raw(fmt.Sprintf(`<path class="g" d="M%d %dH%d"/>`, plotLeft, plotBottom, ScatterWidth))
	const marks = 6
	for i := range marks {
		x, anchor := plotLeft+i*ScatterColumns*cellSize/(marks-1), "middle"
		if i == 0 {
			anchor = "start"
		}
		if i == marks-1 {
			anchor = "end"
		}
		at := s.From.Add(s.To.Sub(s.From) / (marks - 1) * time.Duration(i))
		b.Raw(fmt.Sprintf(`<text x="%d" y="%d" text-anchor="%s">`, x, plotBottom+16, anchor)).Text(axisLabel(at.In(s.Clock.Zone), s.To.Sub(s.From))).Raw("</text>")
	}
}

// y returns the pixel of a row. A grid of few rows uses the whole height.
func (s Scatter) y(row float64) float64 {
	return plotBottom - row/float64(max(s.Rows, 1))*ScatterRows*cellSize
}

// marks draws the cells of a state as one path: those with one run, or those with several.
func (s Scatter) marks(b *markup.Builder, class string, many bool) {
	size := cellSize
	if s.Count <= fewRuns {
		size = 2 * cellSize
	}
	var path []byte
	for _, c := range s.Cells {
		if c.Class != class || (c.N > 1) != many {
			continue
		}
		x := plotLeft + int(c.Column)*cellSize - (size-cellSize)/2
		y := int(s.y(float64(c.Row)+0.5)) - size/2
		path = append(path, 'M')
		path = strconv.AppendInt(path, int64(x), 10)
		path = append(path, ' ')
		path = strconv.AppendInt(path, int64(y), 10)
		path = fmt.Appendf(path, "h%dv%dh-%dz", size, size, size)
	}
	if len(path) == 0 {
		return
	}
	name := class
	if !many {
		name += " n"
	}
	b.Raw(`<path class="`, name, `" d="`, string(path), `"/>`)
}

// At returns the cell nearest to a pixel of the image, within a few pixels; false if there is none.
func (s Scatter) At(x, y int) (Cell, bool) {
	const reach = 8
	best, found := Cell{}, reach*reach+1
	for _, c := range s.Cells {
		dx := plotLeft + int(c.Column)*cellSize + cellSize/2 - x
		dy := int(s.y(float64(c.Row)+0.5)) - y
		if distance := dx*dx + dy*dy; distance < found {
			best, found = c, distance
		}
	}
	return best, found <= reach*reach
}

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
