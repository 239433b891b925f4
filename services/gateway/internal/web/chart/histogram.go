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

// Histogram is a stacked histogram over time. An image over the same time may stand below its bars, or alone.
type Histogram struct {
	// Bars divide the axis into equal parts. If none of them counts anything, the image stands alone.
	Bars []Bar
	// Image is nil for none.
	Image   *Image
	Legend  []Entry
	Clock   show.Clock
	Caption string
}

// Image is an image whose time axis is that of the bars. It begins at the gutter of the figure.
type Image struct {
	Source, Caption string
	// Numbers leads to a table with the content of the image.
	Numbers string
}

// Entry is a state of the legend. It leads to what it counts.
type Entry struct {
	Class, Title, Link string
	N                  int64
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
	var b markup.Builder
	b.Raw(`<figure class="chart histogram"><div class="plot">`)
	if sum > 0 || h.Image == nil {
		h.bars(&b, nice(most), sum)
	}
	if h.Image != nil {
		b.Raw(fmt.Sprintf(`<img height="%d" loading="lazy"`, ScatterHeight)).Attr("src", h.Image.Source).Attr("alt", h.Image.Caption).Raw("/>")
	}
	h.links(&b)
	b.Raw("</div>")
	timeAxis{h.Bars[0].From, h.Bars[len(h.Bars)-1].To, h.Clock}.draw(&b)
	h.legend(&b)
	b.Raw("<figcaption>").Text(h.Caption)
	if h.Image != nil {
		b.Raw(" <a").Attr("href", h.Image.Numbers).Raw(">Numbers of durations</a>")
	}
	b.Raw("</figcaption>")
	if sum > 0 || h.Image == nil {
		h.table(&b)
	}
	b.Raw("</figure>")
	return b.Markup()
}

// bars draws the bars with their vertical axis.
func (h Histogram) bars(b *markup.Builder, top, sum int64) {
	b.Raw(`<div class="bars"><span class="y">`, show.Count(top), `</span>`)
	if top%2 == 0 {
		b.Raw(`<span class="y mid">`, show.Count(top/2), `</span>`)
	}
	b.Raw(`<span class="y zero">0</span>`)
	b.Raw(fmt.Sprintf(`<svg viewBox="0 0 %d %d" preserveAspectRatio="none" role="img"`, len(h.Bars)*barWidth, histogramHeight))
	b.Attr("aria-label", h.Caption+": "+show.Count(sum)+" in total").Raw(">")
	axis := timeAxis{h.Bars[0].From, h.Bars[len(h.Bars)-1].To, h.Clock}
	if now, future := axis.now(); future {
		x := now / 100 * float64(len(h.Bars)*barWidth)
		b.Raw(fmt.Sprintf(`<rect class="ahead" x="%s" width="%s" height="%d"/>`, number(x), number(float64(len(h.Bars)*barWidth)-x), histogramHeight))
	}
	for i, bar := range h.Bars {
		y := float64(histogramHeight)
		for _, part := range bar.Parts {
			if part.N == 0 {
				continue
			}
			height := max(float64(part.N)/float64(top)*histogramHeight, 1)
			y -= height
			b.Raw(fmt.Sprintf(`<rect class="c-%s" x="%d" y="%s" width="%d" height="%s"/>`, part.Class, i*barWidth, number(y), barWidth-barGap, number(height)))
		}
	}
	b.Raw("</svg></div>")
}

// links covers the bars and the image by links to their intervals. The tables have the same links for keyboards.
func (h Histogram) links(b *markup.Builder) {
	b.Raw(fmt.Sprintf(`<svg class="slots" viewBox="0 0 %d 1" preserveAspectRatio="none" aria-hidden="true">`, len(h.Bars)*barWidth))
	for i, bar := range h.Bars {
		if bar.Total() == 0 && h.Image == nil {
			continue
		}
		if bar.Link != "" {
			b.Raw(`<a tabindex="-1"`).Attr("href", bar.Link).Raw(">")
		}
		title := h.Clock.Text(bar.From)
		if parts := describe(bar.Parts); parts != "" {
			title += ": " + parts
		}
		b.Raw(fmt.Sprintf(`<rect x="%d" width="%d" height="1"><title>`, i*barWidth, barWidth)).Text(title).Raw("</title></rect>")
		if bar.Link != "" {
			b.Raw("</a>")
		}
	}
	b.Raw("</svg>")
}

func (h Histogram) legend(b *markup.Builder) {
	if len(h.Legend) == 0 {
		return
	}
	b.Raw(`<ul class="legend">`)
	for _, e := range h.Legend {
		b.Raw("<li><a").Attr("href", e.Link).Raw(`><svg viewBox="0 0 8 8" width="8" height="8" aria-hidden="true"><rect class="c-`, e.Class, `" width="8" height="8" rx="2"/></svg> `)
		b.Text(e.Title).Raw(" <b>", show.Count(e.N), "</b></a></li>")
	}
	b.Raw("</ul>")
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
