package runs_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/runs"
)

const (
	completed = orchv1.StateType_STATE_TYPE_COMPLETED
	failed    = orchv1.StateType_STATE_TYPE_FAILED
)

var start = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func micros(after time.Duration) int64 { return start.Add(after).UnixMicro() }

func TestGrid(t *testing.T) {
	t.Parallel()
	g := runs.NewGrid(start, start.Add(time.Hour), 60)
	require.Empty(t, g.Scatter(80).GetCells())
	var ids []uuid.UUID
	for range 5 {
		ids = append(ids, uuid.New())
		g.Add(ids[len(ids)-1], completed, micros(30*time.Second), 1)
	}
	g.Add(uuid.New(), failed, micros(30*time.Second), 1)
	other := runs.NewGrid(start, start.Add(time.Hour), 60)
	other.Add(uuid.New(), completed, micros(time.Hour-time.Microsecond), 100)
	other.Add(uuid.New(), completed, micros(0), 1)
	g.Merge(other)

	s := g.Scatter(64)
	require.EqualValues(t, 8, s.GetCount())
	require.EqualValues(t, 64, s.GetRows())
	require.InDelta(t, 1, s.GetShortest(), 0.001)
	require.InDelta(t, 107.5, s.GetLongest(), 0.1)
	require.Len(t, s.GetCells(), 3)
	first := s.GetCells()[0]
	require.Equal(t, []int64{0, 0, 6}, []int64{first.GetColumn(), first.GetRow(), first.GetCount()})
	require.Equal(t, completed, first.GetStateType())
	require.Equal(t, []string{ids[0].String(), ids[1].String(), ids[2].String()}, first.GetFlowRunIds())
	require.Equal(t, failed, s.GetCells()[1].GetStateType())
	last := s.GetCells()[2]
	require.Equal(t, []int64{59, 63, 1}, []int64{last.GetColumn(), last.GetRow(), last.GetCount()})
	require.EqualValues(t, 1, g.Scatter(1).GetRows())
}

// TestEveryRunIsInOneCell places runs with any duration.
func TestEveryRunIsInOneCell(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		columns, rows := rapid.Int64Range(1, 1000).Draw(t, "columns"), rapid.Int64Range(1, 200).Draw(t, "rows")
		g := runs.NewGrid(start, start.Add(time.Hour), columns)
		durations := rapid.SliceOfN(rapid.Float64(), 1, 50).Draw(t, "durations")
		for _, d := range append(durations, math.Inf(1), math.NaN(), 0) {
			g.Add(uuid.New(), failed, micros(time.Duration(rapid.Int64Range(0, int64(time.Hour)-1).Draw(t, "start"))), d)
		}
		s := g.Scatter(rows)
		var sum int64
		for _, c := range s.GetCells() {
			sum += c.GetCount()
			require.True(t, c.GetColumn() >= 0 && c.GetColumn() < columns && c.GetRow() >= 0 && c.GetRow() < s.GetRows())
			require.Len(t, c.GetFlowRunIds(), int(min(c.GetCount(), 3)))
		}
		require.Equal(t, s.GetCount(), sum)
		require.EqualValues(t, len(durations)+3, sum)
		require.LessOrEqual(t, s.GetRows(), rows)
		require.Less(t, s.GetShortest(), s.GetLongest())
	})
}
