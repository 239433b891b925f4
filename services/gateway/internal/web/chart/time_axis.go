package chart

import (
	"fmt"
	"time"

	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// timeAxis is the horizontal axis that figures above each other share. Its positions are per cents of its width.
type timeAxis struct {
	from, to time.Time
	clock    show.Clock
}

// at returns the position of a time.
func (a timeAxis) at(t time.Time) float64 {
	return 100 * float64(t.Sub(a.from)) / float64(max(a.to.Sub(a.from), 1))
}

// now returns the position of now, and whether the axis goes on after it.
func (a timeAxis) now() (float64, bool) {
	return a.at(a.clock.Now), a.clock.Now.After(a.from) && a.clock.Now.Before(a.to.Add(-a.to.Sub(a.from)/100))
}

// draw draws the labels: quarters of the past, now, and the end if it is in the future. Every second one is left out in narrow windows.
func (a timeAxis) draw(b *markup.Builder) {
	const quarters = 4
	end := 100.0
	now, future := a.now()
	if future {
		end = now
	}
	label := func(x float64, text, anchor, class string) {
		b.Raw(fmt.Sprintf(`<text x="%s%%" y="12" text-anchor="%s"`, percent(x), anchor))
		if class != "" {
			b.Attr("class", class)
		}
		b.Raw(">").Text(text).Raw("</text>")
	}
	b.Raw(`<svg class="axis-x" height="16" aria-hidden="true">`)
	length := a.to.Sub(a.from)
	for i := range quarters + 1 {
		x := end * float64(i) / quarters
		text, anchor, class := axisLabel(a.from.Add(time.Duration(x/100*float64(length))).In(a.clock.Zone), length), "middle", ""
		switch {
		case i == 0:
			anchor = "start"
		case i == quarters && future:
			text = "now"
		case i == quarters:
			anchor = "end"
		case i%2 == 1:
			class = "opt"
		}
		label(x, text, anchor, class)
	}
	if future {
		label(100, axisLabel(a.to.In(a.clock.Zone), length), "end", "opt")
	}
	b.Raw("</svg>")
}

// percent formats a position. A hundredth is less than a pixel.
func percent(x float64) string { return number(float64(int(x*100+0.5)) / 100) }

// axisLabel formats a time on an axis; the length of the axis decides how much of it.
func axisLabel(t time.Time, length time.Duration) string {
	switch {
	case length <= 36*time.Hour:
		return t.Format("15:04")
	case length <= 14*24*time.Hour:
		return t.Format("Jan 2 15:04")
	}
	return t.Format("Jan 2")
}
