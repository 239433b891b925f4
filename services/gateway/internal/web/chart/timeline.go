package chart

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// Span is the time from the start to the end of one run.
type Span struct {
	From, To time.Time
	// Class is the lower-case state.
	Class, Title string
	// Attempts are the attempts of a run that had several, oldest first. A dotted line joins them.
	Attempts []Span
}

// Lane is a line of a timeline: one run, or several of the same task.
type Lane struct {
	Label, Link string
	// Note follows the line, such as a duration.
	Note string
	// Spans are empty if no run of the lane began.
	Spans []Span
	// Critical marks a lane of the critical path.
	Critical bool
}

// Timeline shows when runs ran. Idle times between them are cut.
type Timeline struct {
	Lanes []Lane
	// From and To are times that the axis contains. The zero time adds nothing.
	From, To time.Time
	Clock    show.Clock
	Caption  string
}

const (
	// laneWidth is the width of a lane in units of its view box; spans of one unit are merged.
	laneWidth = 1000
	// An idle time longer than this share of the whole is cut to cutWidth units.
	longIdle = 0.15
	cutWidth = 24
)

// Markup returns the figure. Without lanes it is empty.
func (t Timeline) Markup() markup.Markup {
	if len(t.Lanes) == 0 {
		return markup.Markup{}
	}
	axis := newAxis(t)
	var b markup.Builder
	b.Raw(`<figure class="chart timeline"><ol>`)
	for _, lane := range t.Lanes {
		b.Raw("<li")
		if lane.Critical {
			b.Raw(` class="critical"`)
		}
		b.Raw(`><span class="lane">`)
		if lane.Link != "" {
			b.Raw("<a").Attr("href", lane.Link).Raw(">").Text(show.Line(lane.Label, 40)).Raw("</a>")
		} else {
			b.Text(show.Line(lane.Label, 40))
		}
		b.Raw(fmt.Sprintf(`</span><svg viewBox="0 0 %d 12" preserveAspectRatio="none" aria-hidden="true">`, laneWidth))
		for _, x := range axis.cuts {
			b.Raw(fmt.Sprintf(`<path class="cut" d="M%s 0v12"/>`, number(x+cutWidth/2)))
		}
		drawSpans(&b, axis, lane.Spans)
		b.Raw(`</svg><span class="note">`).Text(lane.Note).Raw("</span></li>")
	}
	b.Raw("</ol>")
	if len(axis.busy) > 0 {
		b.Raw(`<div class="ends"><span>`).Text(t.ends(axis.from, axis)).Raw("</span><span>").Text(t.ends(axis.to, axis)).Raw("</span></div>")
	}
	b.Raw("<figcaption>").Text(t.Caption)
	if len(axis.cuts) > 0 {
		b.Text(" · " + show.Plural(int64(len(axis.cuts)), "idle time is cut", "idle times are cut"))
	}
	b.Raw("</figcaption></figure>")
	return b.Markup()
}

// ends formats an end of the axis. A short axis needs milliseconds to tell its ends apart.
func (t Timeline) ends(at time.Time, a *axis) string {
	if a.to.Sub(a.from) < 10*time.Second {
		return t.Clock.Precise(at)
	}
	return t.Clock.Text(at)
}

// drawSpans draws spans, and merges those of one state that touch at this resolution. Attempts follow each other at once and
// are not merged.
func drawSpans(b *markup.Builder, axis *axis, all []Span) {
	var spans []Span
	for _, s := range all {
		if len(s.Attempts) == 0 {
			spans = append(spans, s)
			continue
		}
		b.Raw(fmt.Sprintf(`<path class="wait" d="M%s 6H%s"/>`, number(axis.at(s.From)), number(axis.at(s.To))))
		for _, attempt := range s.Attempts {
			from := axis.at(attempt.From)
			drawSpan(b, attempt.Class, attempt.Title, from, max(axis.at(attempt.To)-1, from+2))
		}
	}
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Or(cmp.Compare(a.Class, b.Class), a.From.Compare(b.From)) })
	for i := 0; i < len(spans); {
		first := spans[i]
		from, to := axis.at(first.From), max(axis.at(first.To), axis.at(first.From)+2)
		title, merged := first.Title, 1
		for i++; i < len(spans) && spans[i].Class == first.Class && axis.at(spans[i].From) <= to+0.5; i++ {
			to = max(to, axis.at(spans[i].To))
			merged++
		}
		if merged > 1 {
			title = fmt.Sprintf("%d runs", merged)
		}
		drawSpan(b, first.Class, title, from, to)
	}
}

func drawSpan(b *markup.Builder, class, title string, from, to float64) {
	b.Raw(fmt.Sprintf(`<rect class="c-%s" x="%s" y="1" width="%s" height="10" rx="2"><title>`, class, number(from), number(min(to, laneWidth)-from)))
	b.Text(title).Raw("</title></rect>")
}

// axis maps times to units. It is linear between the cuts.
type axis struct {
	from, to time.Time
	busy     []Span    // Merged busy times.
	start    []float64 // Units at which each busy time begins.
	scale    float64   // Units per second.
	cuts     []float64
}

func newAxis(t Timeline) *axis {
	var all []Span
	for _, lane := range t.Lanes {
		for _, s := range lane.Spans {
			if len(s.Attempts) > 0 {
				all = append(all, s.Attempts...)
			} else {
				all = append(all, s)
			}
		}
	}
	a := &axis{}
	if len(all) == 0 {
		return a
	}
	for _, end := range []time.Time{t.From, t.To} {
		if !end.IsZero() {
			all = append(all, Span{From: end, To: end})
		}
	}
	slices.SortFunc(all, func(x, y Span) int { return x.From.Compare(y.From) })
	a.from, a.to = all[0].From, all[0].To
	for _, s := range all {
		if s.To.After(a.to) {
			a.to = s.To
		}
	}
	long := time.Duration(float64(a.to.Sub(a.from)) * longIdle)
	for _, s := range all {
		last := len(a.busy) - 1
		if last >= 0 && s.From.Sub(a.busy[last].To) <= max(long, time.Second) {
			if s.To.After(a.busy[last].To) {
				a.busy[last].To = s.To
			}
			continue
		}
		a.busy = append(a.busy, Span{From: s.From, To: s.To})
	}
	var seconds float64
	for _, s := range a.busy {
		seconds += s.To.Sub(s.From).Seconds()
	}
	width := laneWidth - float64(len(a.busy)-1)*cutWidth
	a.scale = width / max(seconds, 0.001)
	x := 0.0
	for i, s := range a.busy {
		if i > 0 {
			a.cuts = append(a.cuts, x)
			x += cutWidth
		}
		a.start = append(a.start, x)
		x += s.To.Sub(s.From).Seconds() * a.scale
	}
	return a
}

// at returns the unit of a time.
func (a *axis) at(t time.Time) float64 {
	i, _ := slices.BinarySearchFunc(a.busy, t, func(s Span, t time.Time) int {
		if s.From.After(t) {
			return 1
		}
		return -1
	})
	i = max(i-1, 0)
	if len(a.busy) == 0 {
		return 0
	}
	offset := min(t.Sub(a.busy[i].From).Seconds(), a.busy[i].To.Sub(a.busy[i].From).Seconds())
	return a.start[i] + max(offset, 0)*a.scale
}
