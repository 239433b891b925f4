package chart_test

import (
	"bytes"
	"compress/gzip"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/gateway/internal/web/chart"
)

func scatterOf(cells ...chart.Cell) chart.Scatter {
	s := chart.Scatter{From: now.Add(-24 * time.Hour), To: now, Rows: 100, Shortest: 0.1, Longest: 10_000, Cells: cells, Until: now, Clock: clock}
	for _, c := range cells {
		s.Count += c.N
	}
	return s
}

func TestScatter(t *testing.T) {
	t.Parallel()
	wellFormed(t, scatterOf().Image())
	require.Contains(t, scatterOf().Image().Source(), "No run in this window.")
	s := scatterOf(chart.Cell{Column: 0, Row: 0, Class: "completed", N: 3}, chart.Cell{Column: 475, Row: 99, Class: "failed", N: 1}, chart.Cell{Column: 475, Row: 99, Class: "completed", N: 1})
	image := s.Image().Source()
	require.Contains(t, image, `<g class="completed"><svg x="0.11%"><path d="M48 212h0"/></svg></g>`)
	require.Contains(t, image, `<g class="failed n"><svg x="99.89%"><path d="M-3 4l6 6m0-6l-6 6"/></svg></g>`)
	require.Less(t, strings.Index(image, `class="completed`), strings.Index(image, `class="failed`), "failures are drawn above the others")
	for _, label := range []string{"1 s", "1 min", "1 h"} {
		require.Contains(t, image, ">"+label+"<")
	}
	require.NotContains(t, image, `class="now"`)
	s.Until = now.Add(2 * time.Hour)
	require.Contains(t, s.Image().Source(), `<svg x="92.31%"><rect class="ahead" x="4"`)
	require.Contains(t, s.Image().Source(), `<svg x="92.21%">`, "the columns end with the window")
	from, to := s.Column(475)
	require.WithinDuration(t, now, to, time.Second)
	require.WithinDuration(t, now.Add(-24*time.Hour/476), from, time.Second)
	shortest, _ := s.Durations(0)
	_, longest := s.Durations(99)
	require.InDelta(t, 0.1, shortest.Seconds(), 0.001)
	require.InDelta(t, 10_000, longest.Seconds(), 1)
}

// full is a scatter of 100,000 runs in a day.
func full() chart.Scatter {
	random := rand.New(rand.NewPCG(1, 2))
	type cell struct{ column, row int64 }
	cells := map[cell]int64{}
	for range 100_000 {
		cells[cell{random.Int64N(chart.ScatterColumns), min(int64(50+12*random.NormFloat64()), 99)}]++
	}
	s := scatterOf()
	for at, n := range cells {
		s.Cells = append(s.Cells, chart.Cell{Column: at.column, Row: max(at.row, 0), Class: []string{"completed", "failed"}[at.column%2], N: n})
		s.Count += n
	}
	return s
}

// TestScatterIsSmall bounds the image of 100,000 runs.
func TestScatterIsSmall(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte(full().Image().Source()))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	require.Less(t, packed.Len(), 100_000)
	t.Logf("%d cells, %d bytes compressed", len(full().Cells), packed.Len())
}

func BenchmarkScatterImage(b *testing.B) {
	s := full()
	for b.Loop() {
		s.Image()
	}
}
