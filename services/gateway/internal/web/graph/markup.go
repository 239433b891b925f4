package graph

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/orch-project/orch/services/gateway/internal/web/markup"
	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

// states are the states in the order in which a box with several runs shows them.
var states = []string{"failed", "crashed", "running", "completed", "paused", "cancelling", "cancelled", "pending", "scheduled", NotReached}

// Links leads to the runs of one task.
type Links func(task string) string

// Title is the text of a box.
func (b *Box) Title() string {
	if len(b.Nodes) > 1 {
		return fmt.Sprintf("%s ×%d", b.Label, len(b.Nodes))
	}
	return b.Label
}

// Note is the second line of a box: the note of one run, or the states of several.
func (b *Box) Note() string {
	if len(b.Nodes) == 1 {
		if b.Nodes[0].Note != "" {
			return b.Nodes[0].Note
		}
		return b.Nodes[0].State
	}
	var parts []string
	for _, state := range states {
		if n := b.count(state); n > 0 {
			parts = append(parts, show.Count(int64(n))+" "+state)
		}
	}
	return strings.Join(parts, ", ")
}

// state returns the state of the worst run of a box, which the box shows.
func (b *Box) state() string {
	for _, state := range states {
		if b.count(state) > 0 {
			return state
		}
	}
	return b.Nodes[0].State
}

// Link leads to the run of a box, or to the list of its runs.
func (b *Box) Link(links Links) string {
	if len(b.Nodes) == 1 {
		return b.Nodes[0].Link
	}
	return links(b.Name)
}

// Markup returns the figure: the drawing, and the same content as a list for narrow windows and for readers of text. Without
// boxes, or with too many, it is empty.
func (d *Drawing) Markup(links Links) markup.Markup {
	if len(d.Boxes) == 0 || d.TooLarge {
		return markup.Markup{}
	}
	var b markup.Builder
	w, h := strconv.Itoa(d.W+2*padding), strconv.Itoa(d.H+2*padding)
	b.Raw(`<div class="graph" tabindex="0" role="group" aria-label="Graph of the run"><svg width="`, w, `" height="`, h, `" role="group" aria-label="Tasks and their dependencies, left to right">`)
	d.draw(&b, links, "", padding, padding)
	b.Raw(`</svg></div><ol class="steps" aria-label="Tasks in order">`)
	d.list(&b, links, "")
	b.Raw("</ol>")
	return b.Markup()
}

// draw draws the edges, then the boxes, moved by x and y. A script finds the boxes of an edge by their numbers, which begin with the prefix.
func (d *Drawing) draw(b *markup.Builder, links Links, prefix string, x, y int) {
	numbers := make(map[*Box]string, len(d.Boxes))
	for i, box := range d.Boxes {
		numbers[box] = prefix + strconv.Itoa(i)
	}
	for _, e := range d.Edges {
		class := "edge"
		switch {
		case e.To.state() == NotReached && e.From.failures() > 0:
			class += " hot"
		case e.To.state() == NotReached:
			class += " off"
		}
		b.Raw(`<path class="`, class, `" data-edge="`, numbers[e.From], " ", numbers[e.To], `" d="`, curve(e.Points, x, y), `"/>`)
	}
	for _, box := range d.Boxes {
		b.Raw(`<g data-box="`, numbers[box], `">`)
		box.draw(b, links, x, y)
		b.Raw("</g>")
		if box.Inside != nil {
			box.Inside.draw(b, links, numbers[box]+".", box.X+x+padding, box.Y+y+titleHeight+padding)
		}
	}
}

// curve returns the path through points: curves between columns, lines across them.
func curve(points [][2]int, x, y int) string {
	path := fmt.Appendf(nil, "M%d %d", points[0][0]+x, points[0][1]+y)
	for i, p := range points[1:] {
		from := points[i]
		if i%2 == 1 || from[1] == p[1] {
			path = fmt.Appendf(path, "L%d %d", p[0]+x, p[1]+y)
			continue
		}
		middle := (from[0]+p[0])/2 + x
		path = fmt.Appendf(path, "C%d %d %d %d %d %d", middle, from[1]+y, middle, p[1]+y, p[0]+x, p[1]+y)
	}
	return string(path)
}

// draw draws one box. Its link contains the whole box, but for subflow runs, which have a second link: no link may contain
// another one.
func (b *Box) draw(out *markup.Builder, links Links, dx, dy int) {
	x, y, state := b.X+dx, b.Y+dy, b.state()
	class := map[bool]string{true: "box opened", false: "box"}[b.Inside != nil]
	switch {
	case state == "failed" || state == "crashed":
		class += " k-" + state
	case state == NotReached:
		class += " off"
	}
	rect := fmt.Sprintf(`<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="7"/>`, class, x, y, b.W, b.H)
	toggle := ""
	if len(b.Nodes) == 1 {
		toggle = b.Nodes[0].Toggle
	}
	if toggle != "" {
		out.Raw(rect)
		rect = ""
	}
	out.Raw("<a").Attr("href", b.Link(links)).Attr("aria-label", b.Title()+", "+b.Note()).Raw(">", rect)
	out.Raw(`<g class="s-`, iconClass(state), `">`, show.IconAt(iconClass(state), x+8, y+5, 14).Source(), `</g>`)
	out.Raw(fmt.Sprintf(`<text x="%d" y="%d">`, x+27, y+16)).Text(show.Middle(show.Visible(b.Title()), (b.W-34)/7)).Raw("</text>")
	switch {
	case len(b.Nodes) > 1:
		b.bar(out, x+27, y+23, b.W-36)
	case toggle == "":
		out.Raw(fmt.Sprintf(`<text class="quiet" x="%d" y="%d">`, x+27, y+31)).Text(b.Note()).Raw("</text>")
	}
	out.Raw("</a>")
	if toggle != "" {
		word, tx, ty := "open", x+27, y+31
		if b.Inside != nil {
			word, tx, ty = "close", x+b.W-padding, y+18
		}
		out.Raw("<a").Attr("href", toggle).Attr("aria-label", word+" "+b.Title()).Raw(fmt.Sprintf(`><text class="toggle" x="%d" y="%d"`, tx, ty))
		if b.Inside != nil {
			out.Attr("text-anchor", "end")
		}
		out.Raw(">", word, "</text></a>")
	}
}

// bar draws the states of the runs of a box, each as wide as its part.
func (b *Box) bar(out *markup.Builder, x, y, width int) {
	done := 0
	for _, state := range slices.Backward(states) {
		n := b.count(state)
		if n == 0 {
			continue
		}
		from := x + width*done/len(b.Nodes)
		done += n
		to := max(x+width*done/len(b.Nodes), from+2)
		out.Raw(fmt.Sprintf(`<rect class="c-%s" x="%d" y="%d" width="%d" height="5"/>`, iconClass(state), from, y, to-from))
	}
}

// iconClass is the class of the icon and the colour of a state.
func iconClass(state string) string {
	if state == NotReached {
		return "pending"
	}
	return state
}

// list writes one item for each box. The boxes of an opened subflow follow the box of the subflow.
func (d *Drawing) list(b *markup.Builder, links Links, class string) {
	parents := map[*Box][]string{}
	for _, e := range d.Edges {
		parents[e.To] = append(parents[e.To], e.From.Label)
	}
	for _, box := range d.Boxes {
		b.Raw("<li")
		if class != "" {
			b.Attr("class", class)
		}
		state := iconClass(box.state())
		b.Raw(`><span class="s-`, state, `">`, show.Icon(state).Source(), "</span><span><a").Attr("href", box.Link(links)).Raw(">").Text(show.Line(box.Title(), 60)).Raw("</a>")
		if near := parents[box]; len(near) > 0 {
			b.Raw(` <span class="quiet">after `).Text(show.Line(strings.Join(near, ", "), 80)).Raw("</span>")
		}
		b.Raw(`</span><span class="quiet">`).Text(box.Note()).Raw("</span></li>")
		if box.Inside != nil {
			box.Inside.list(b, links, "inside")
		}
	}
}
