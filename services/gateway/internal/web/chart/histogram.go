package chart

import (
	"fmt"
	"strconv"
	"time"

	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// Part is a segment of a bar.
type Part struct {
	// Class is the lower-case state, or "all".
	Class, Name string
	N           int64
}

// Bar is the count of one interval.
type Bar struct {
	From, To time.Time
	Parts    []Part
	// Link leads to what the bar counts, empty for none.
	Link string
}

// Total returns the sum of the bar's parts.
func (b Bar) Total() int64 {
	var sum int64
	for _, p := range b.Parts {
		sum += p.N
	}
	return sum
}

// Histogram is a stacked histogram over time.
type Histogram struct {
	Bars    []Bar
	Clock   show.Clock
	Caption string
}

// The drawing's size in units of its view box.
const (
	histogramHeight = 100
	barWidth        = 10
	barGap          = 2
)

// Markup returns the figure. Without bars it is empty.
func (h Histogram) Markup() markup.Markup {
	if len(h.Bars) == 0 {
		return markup.Markup{}
	}
	var most, sum int64
	for _, bar := range h.Bars {
		most, sum = max(most, bar.Total()), sum+bar.Total()
	}
	top := nice(most)
	var b markup.Builder
	b.Raw(`<figure class="chart histogram"><div class="plot"><span class="top">`, show.Count(top), `</span>`)
	b.Raw(fmt.Sprintf(`<svg viewBox="0 0 %d %d" preserveAspectRatio="none" role="img"`, len(h.Bars)*barWidth, histogramHeight))
	b.Attr("aria-label", h.Caption+": "+show.Count(sum)+" in total").Raw(">")
	for i, bar := range h.Bars {
		h.bar(&b, i, bar, top)
	}
	b.Raw(`</svg></div><div class="axis-x">`)
	for _, t := range []time.Time{h.Bars[0].From, h.Bars[len(h.Bars)/2].From, h.Bars[len(h.Bars)-1].To} {
		b.Raw("<span>").Text(axisLabel(t.In(h.Clock.Zone), h.Bars[len(h.Bars)-1].To.Sub(h.Bars[0].From))).Raw("</span>")
	}
	b.Raw("</div><figcaption>").Text(h.Caption).Raw("</figcaption>")
	h.table(&b)
	b.Raw("</figure>")
	return b.Markup()
}

func (h Histogram) bar(b *markup.Builder, i int, bar Bar, top int64) {
	total := bar.Total()
	if total == 0 {
		return
	}
	if bar.Link != "" {
		b.Raw("<a").Attr("href", bar.Link).Raw(">")
	}
	b.Raw("<g><title>").Text(h.Clock.Text(bar.From) + ": " + describe(bar.Parts)).Raw("</title>")
	y := float64(histogramHeight)
	for _, part := range bar.Parts {
		if part.N == 0 {
			continue
		}
		height := max(float64(part.N)/float64(top)*histogramHeight, 1)
		y -= height
		b.Raw(fmt.Sprintf(`<rect class="c-%s" x="%d" y="%s" width="%d" height="%s"/>`, part.Class, i*barWidth, number(y), barWidth-barGap, number(height)))
	}
	b.Raw("</g>")
	if bar.Link != "" {
		b.Raw("</a>")
	}
}

func describe(parts []Part) string {
	text := ""
	for _, p := range parts {
		if p.N == 0 {
			continue
		}
		if text != "" {
			text += ", "
		}
		text += show.Count(p.N) + " " + p.Name
	}
	return text
}

func (h Histogram) table(b *markup.Builder) {
	b.Raw(`<details><summary>Numbers</summary><div class="scroll"><table><thead><tr><th scope="col">From</th><th scope="col">Count</th></tr></thead><tbody>`)
	for _, bar := range h.Bars {
		if bar.Total() == 0 {
			continue
		}
		b.Raw("<tr><td>").Text(h.Clock.Text(bar.From)).Raw("</td><td>")
		if bar.Link != "" {
			b.Raw("<a").Attr("href", bar.Link).Raw(">").Text(describe(bar.Parts)).Raw("</a>")
		} else {
			b.Text(describe(bar.Parts))
		}
		b.Raw("</td></tr>")
	}
	b.Raw("</tbody></table></div></details>")
}

// nice rounds a maximum up to 1, 2 or 5 times a power of ten.
func nice(most int64) int64 {
	step := int64(1)
	for {
		for _, factor := range []int64{1, 2, 5} {
			if most <= factor*step {
				return factor * step
			}
		}
		step *= 10
	}
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 32) }

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
