package chart

import (
	"fmt"

	"github.com/orch-project/orch/services/gateway/internal/web/markup"
)

// Tick is one past run or delivery.
type Tick struct {
	// Class is the lower-case state.
	Class, Title string
	// Size is the height from 0 to 1.
	Size float64
	Link string
	// Current marks the run or delivery whose page shows the strip.
	Current bool
}

// Ticks draws the latest runs or deliveries as a strip, oldest first. The label describes the strip in words.
func Ticks(ticks []Tick, label string) markup.Markup {
	if len(ticks) == 0 {
		return markup.Markup{}
	}
	const width, height = 5, 20
	var b markup.Builder
	b.Raw(fmt.Sprintf(`<span class="chart ticks"><svg viewBox="0 0 %d %d" width="%d" height="%d" role="img"`, len(ticks)*width, height, len(ticks)*width, height))
	b.Attr("aria-label", label).Raw(">")
	for i, t := range ticks {
		h := 6 + 14*min(max(t.Size, 0), 1)
		if t.Link != "" {
			b.Raw(`<a tabindex="-1"`).Attr("href", t.Link).Raw(">") // A table has the same links for keyboards.
		}
		class := t.Class
		if t.Current {
			class += " current"
		}
		b.Raw(fmt.Sprintf(`<rect class="c-%s" x="%d" y="%s" width="%d" height="%s"><title>`, class, i*width, number(height-h), width-1, number(h)))
		b.Text(t.Title).Raw("</title></rect>")
		if t.Link != "" {
			b.Raw("</a>")
		}
	}
	b.Raw("</svg></span>")
	return b.Markup()
}
