package runs

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	// perDecade is the number of fine classes between a duration and its tenfold.
	perDecade = 32
	// lowest is the decimal logarithm of the shortest duration in seconds, and decades the number of decades above it.
	lowest, decades = -3, 10
	classes         = perDecade * decades
	// maxIDs is the number of runs that a cell names.
	maxIDs = 3
)

// Grid counts runs in cells: columns are parts of a window of start times, rows are parts of the logarithm of the duration. It is not
// safe for concurrent use.
//
//	longest  ┌──────────────────────────┐
//	         │        x     .  :: .     │  rows: from the shortest to the longest duration
//	         │ ..:::..:::::::::::::::.. │
//	shortest └──────────────────────────┘
//	         start      columns         end
//
// A grid places each run once and needs no second pass: it counts in fine classes of duration and combines them at the end, when
// the shortest and the longest one are known.
type Grid struct {
	start, end int64 // In microseconds.
	columns    int64
	cells      map[cellKey]*cell
	count      int64
}

type cellKey struct {
	column, class int32
	state         orchv1.StateType
}

type cell struct {
	count int64
	ids   []uuid.UUID
}

// NewGrid returns an empty grid. The window must not be empty.
func NewGrid(start, end time.Time, columns int64) *Grid {
	return &Grid{start: start.UnixMicro(), end: end.UnixMicro(), columns: columns, cells: map[cellKey]*cell{}}
}

// Add counts a run by its start in microseconds, which must be in the window, and its duration in seconds.
func (g *Grid) Add(id uuid.UUID, state orchv1.StateType, start int64, seconds float64) {
	column := float64(start-g.start) / float64(g.end-g.start) * float64(g.columns)
	at := cellKey{column: int32(min(max(int64(column), 0), g.columns-1)), class: classOf(seconds), state: state}
	c := g.cells[at]
	if c == nil {
		c = &cell{}
		g.cells[at] = c
	}
	c.count++
	g.count++
	if len(c.ids) < maxIDs {
		c.ids = append(c.ids, id)
	}
}

// classOf returns the fine class of a duration.
func classOf(seconds float64) int32 {
	if !(seconds > 0) {
		return 0
	}
	class := math.Floor((math.Log10(seconds) - lowest) * perDecade)
	return int32(min(max(class, 0), classes-1))
}

// edge is the duration in seconds at the lower edge of a fine class.
func edge(class int32) float64 { return math.Pow(10, lowest+float64(class)/perDecade) }

// Merge adds the runs of a grid with the same window and columns.
func (g *Grid) Merge(other *Grid) {
	for at, c := range other.cells {
		have := g.cells[at]
		if have == nil {
			g.cells[at] = c
			continue
		}
		have.count += c.count
		have.ids = append(have.ids, c.ids[:min(len(c.ids), maxIDs-len(have.ids))]...)
	}
	g.count += other.count
}

// Scatter returns the cells in at most a number of rows.
func (g *Grid) Scatter(rows int64) *orchv1.FlowRunScatter {
	s := &orchv1.FlowRunScatter{Count: g.count}
	if g.count == 0 {
		return s
	}
	low, high := int32(classes), int32(0)
	for at := range g.cells {
		low, high = min(low, at.class), max(high, at.class)
	}
	span := int64(high - low + 1)
	s.Rows, s.Shortest, s.Longest = min(rows, span), edge(low), edge(high+1)
	byPlace := map[cellKey]*orchv1.FlowRunScatterCell{}
	for at, c := range g.cells {
		row := int64(at.class-low) * s.GetRows() / span
		to := byPlace[cellKey{at.column, int32(row), at.state}]
		if to == nil {
			to = &orchv1.FlowRunScatterCell{Column: int64(at.column), Row: row, StateType: at.state}
			byPlace[cellKey{at.column, int32(row), at.state}] = to
			s.Cells = append(s.Cells, to)
		}
		to.Count += c.count
		for _, id := range c.ids[:min(len(c.ids), maxIDs-len(to.GetFlowRunIds()))] {
			to.FlowRunIds = append(to.FlowRunIds, id.String())
		}
	}
	slices.SortFunc(s.GetCells(), func(a, b *orchv1.FlowRunScatterCell) int {
		return cmp.Or(cmp.Compare(a.GetColumn(), b.GetColumn()), cmp.Compare(a.GetRow(), b.GetRow()), cmp.Compare(a.GetStateType(), b.GetStateType()))
	})
	return s
}
