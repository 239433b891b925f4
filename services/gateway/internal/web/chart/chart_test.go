package chart_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/gateway/internal/web/chart"
	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var (
	now   = time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)
	clock = show.Clock{Now: now, Zone: time.UTC}
)

const hostile = `<script>"'&`

// wellFormed fails for markup that is not XML, or that has a style or an element of a user's text.
func wellFormed(t *testing.T, m markup.Markup) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(m.Source()))
	d.Entity = xml.HTMLEntity
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err, m.Source())
		if start, ok := token.(xml.StartElement); ok {
			require.NotEqual(t, "script", start.Name.Local)
			for _, a := range start.Attr {
				require.NotEqual(t, "style", a.Name.Local)
			}
		}
	}
}

func TestHistogram(t *testing.T) {
	t.Parallel()
	require.True(t, chart.Histogram{Clock: clock}.Markup().Empty())
	h := chart.Histogram{Clock: clock, Caption: hostile}
	for i := range 3 {
		h.Bars = append(h.Bars, chart.Bar{
			From: now.Add(time.Duration(i) * time.Hour), To: now.Add(time.Duration(i+1) * time.Hour), Link: "/runs?a=1&b=" + hostile,
			Parts: []chart.Part{{Class: "failed", Name: hostile, N: int64(i)}, {Class: "completed", Name: "completed", N: int64(30 * i)}},
		})
	}
	got := h.Markup()
	wellFormed(t, got)
	require.Contains(t, got.Source(), `<span class="y">100</span>`, "the axis ends at a round number above 62")
	require.Equal(t, 4, strings.Count(got.Source(), `<rect class="c-`), "empty parts are not drawn")
	require.Equal(t, 2, strings.Count(got.Source(), `<rect x=`), "bars without runs lead nowhere")
	require.EqualValues(t, 62, h.Bars[2].Total())
}

// TestOneAxis has bars, an image below them, and a future.
func TestOneAxis(t *testing.T) {
	t.Parallel()
	h := chart.Histogram{
		Clock: clock, Caption: "Runs", Image: &chart.Image{Source: "/runs/scatter.svg?a=1&b=" + hostile, Caption: hostile, Numbers: "/runs/scatter"},
		Legend: []chart.Entry{{Class: "failed", Title: hostile, Link: "/runs?state=FAILED", N: 2}},
	}
	for i := range 4 {
		from := now.Add(time.Duration(i-3) * time.Hour)
		h.Bars = append(h.Bars, chart.Bar{From: from, To: from.Add(time.Hour), Link: "/runs"})
	}
	alone := h.Markup()
	wellFormed(t, alone)
	require.NotContains(t, alone.Source(), `class="bars"`, "an image without counts stands alone")
	require.Equal(t, 4, strings.Count(alone.Source(), `<a tabindex="-1"`), "each interval of the image leads to its runs")
	h.Bars[1].Parts = []chart.Part{{Class: "failed", Name: "failed", N: 2}}
	got := h.Markup()
	wellFormed(t, got)
	for _, part := range []string{`<rect class="ahead" x="30" width="10"`, `<text x="75%" y="12" text-anchor="middle">now</text>`, `<text x="100%" y="12" text-anchor="end" class="opt">13:00</text>`, "<b>2</b>"} {
		require.Contains(t, got.Source(), part)
	}
}

func TestTicks(t *testing.T) {
	t.Parallel()
	require.True(t, chart.Ticks(nil, "none").Empty())
	got := chart.Ticks([]chart.Tick{{Class: "failed", Title: hostile, Size: 9, Link: "/x"}, {Class: "completed", Size: -1, Current: true}}, hostile)
	wellFormed(t, got)
	require.Equal(t, 2, strings.Count(got.Source(), "<rect"))
	require.Contains(t, got.Source(), `height="20"><title>`)
	require.Equal(t, 1, strings.Count(got.Source(), `class="c-completed current"`))
}

func TestTimeline(t *testing.T) {
	t.Parallel()
	require.True(t, chart.Timeline{Clock: clock}.Markup().Empty())
	span := func(from, to time.Duration, class string) chart.Span {
		return chart.Span{From: now.Add(from), To: now.Add(to), Class: class, Title: hostile}
	}
	got := chart.Timeline{Clock: clock, Caption: hostile, Lanes: []chart.Lane{
		{Label: hostile, Link: "/x", Note: hostile, Spans: []chart.Span{span(0, time.Minute, "completed")}},
		{Label: "later", Spans: []chart.Span{span(10*time.Hour, 10*time.Hour+time.Minute, "failed")}},
		{Label: "same", Spans: []chart.Span{span(0, time.Millisecond, "completed"), span(time.Millisecond, 2*time.Millisecond, "completed")}},
		{Label: "none"},
	}}.Markup()
	wellFormed(t, got)
	require.Contains(t, got.Source(), "1 idle time is cut")
	require.Contains(t, got.Source(), "2 runs", "spans of one state that touch are merged")
	require.Equal(t, 3, strings.Count(got.Source(), "<rect"))
}

func TestTimelineEndsWithTheRun(t *testing.T) {
	t.Parallel()
	lane := chart.Lane{Label: "load", Critical: true, Spans: []chart.Span{{From: now, To: now.Add(5 * time.Second), Class: "completed"}}}
	got := chart.Timeline{Clock: clock, Lanes: []chart.Lane{lane}, From: now.Add(-time.Second), To: now.Add(9 * time.Second)}.Markup()
	wellFormed(t, got)
	require.Contains(t, got.Source(), `<span>2030-01-31 11:59:59</span><span>2030-01-31 12:00:09</span>`)
	require.Contains(t, got.Source(), `<li class="critical">`)
	require.Contains(t, got.Source(), "1 idle time is cut", "nothing ran in the last four seconds")
}

func TestTimelineAttempts(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	retried := chart.Span{From: now, To: at(30), Class: "completed", Title: "load", Attempts: []chart.Span{
		{From: now, To: at(10), Class: "failed", Title: hostile}, {From: at(10), To: at(20), Class: "failed", Title: "2"}, {From: at(22), To: at(30), Class: "completed", Title: "3"},
	}}
	got := chart.Timeline{Clock: clock, Lanes: []chart.Lane{{Label: "load", Spans: []chart.Span{retried}}}}.Markup()
	wellFormed(t, got)
	require.Equal(t, 3, strings.Count(got.Source(), "<rect"), "attempts that touch stay apart")
	require.Equal(t, 1, strings.Count(got.Source(), `<path class="wait"`))
	require.NotContains(t, got.Source(), ">load</title>", "the attempts replace the run")
}
