package graph

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// Sizes in pixels.
const (
	minWidth, maxWidth = 100, 180
	boxHeight          = 38
	columnGap, rowGap  = 24, 12
	// padding is the space around the boxes of an opened subflow, and titleHeight the line above them.
	padding, titleHeight = 12, 28
	// sweeps is the number of passes that order the columns, forward and backward in turn.
	sweeps = 8
	// alignments is the number of passes that align boxes with their neighbours, each forward and backward.
	alignments = 3
	// maxCrossings bounds the virtual boxes of a drawing. Links beyond the bound are one curve across the boxes between their ends.
	maxCrossings = 5_000
)

// labelWidth estimates the width of a box with a label of 12 px beside its icon.
func labelWidth(label string) int {
	return min(max(utf8.RuneCountInString(label)*7+40, minWidth), maxWidth)
}

// size sets the size of a box. The size of an opened subflow depends on its drawing, which is laid out first, so that open boxes
// cannot overlap.
func (b *Box) size() {
	b.W, b.H = labelWidth(b.Title()), boxHeight
	if children := b.Nodes[0].Children; len(b.Nodes) == 1 && len(children) > 0 {
		b.Inside = Draw(children)
		b.W, b.H = max(labelWidth(b.Title())+90, b.Inside.W+2*padding), b.Inside.H+titleHeight+2*padding
	}
}

// arrange puts boxes into columns, with a virtual box in each column that a long link crosses.
func arrange(boxes []*Box, links []*link) [][]*Box {
	var columns [][]*Box
	add := func(b *Box) {
		for len(columns) <= b.column {
			columns = append(columns, nil)
		}
		b.order = float64(len(columns[b.column]))
		columns[b.column] = append(columns[b.column], b)
	}
	for _, b := range boxes {
		add(b)
	}
	crossings := 0
	for _, l := range links {
		last := l.from
		if crossings += l.to.column - l.from.column - 1; crossings > maxCrossings {
			continue
		}
		for column := l.from.column + 1; column < l.to.column; column++ {
			crossing := &Box{Nodes: l.to.Nodes[:1], H: rowGap, column: column, virtual: true}
			add(crossing)
			l.through = append(l.through, crossing)
			last.out, crossing.in = append(last.out, crossing), append(crossing.in, last)
			last = crossing
		}
		last.out, l.to.in = append(last.out, l.to), append(l.to.in, last)
	}
	return columns
}

// reorder sorts a column by the mean order of each box's neighbours. A box without neighbours keeps its order.
func reorder(column []*Box, neighbours func(*Box) []*Box) {
	mean := make(map[*Box]float64, len(column))
	for _, b := range column {
		mean[b] = b.order
		if near := neighbours(b); len(near) > 0 {
			sum := 0.0
			for _, n := range near {
				sum += n.order
			}
			mean[b] = sum / float64(len(near))
		}
	}
	slices.SortStableFunc(column, func(a, b *Box) int {
		return cmp.Or(cmp.Compare(mean[a], mean[b]), cmp.Compare(a.start(), b.start()), cmp.Compare(a.id(), b.id()))
	})
	for i, b := range column {
		b.order = float64(i)
	}
}

// position places the boxes, each beside the median of its neighbours as far as the order of its column allows.
func (d *Drawing) position(columns [][]*Box) {
	x := 0
	for _, column := range columns {
		width, y := 0, 0
		for _, b := range column {
			b.X, b.Y = x, y
			y += b.H + rowGap
			width = max(width, b.W)
		}
		for _, b := range column {
			if b.virtual {
				b.W = width
			}
		}
		x += width + columnGap
	}
	d.W = max(x-columnGap, 0)
	for range alignments {
		for i := 1; i < len(columns); i++ {
			align(columns[i], func(b *Box) []*Box { return b.in })
		}
		for i := len(columns) - 2; i >= 0; i-- {
			align(columns[i], func(b *Box) []*Box { return b.out })
		}
	}
	all := slices.Concat(columns...)
	if len(all) == 0 {
		return
	}
	top := slices.MinFunc(all, func(a, b *Box) int { return cmp.Compare(a.Y, b.Y) }).Y
	for _, b := range all {
		b.Y -= top
		d.H = max(d.H, b.Y+b.H)
		if !b.virtual {
			d.Boxes = append(d.Boxes, b)
		}
	}
}

// align moves the boxes of a column to the medians of their neighbours.
func align(column []*Box, neighbours func(*Box) []*Box) {
	wanted := make([]int, len(column))
	for i, b := range column {
		wanted[i] = b.Y
		near := neighbours(b)
		if len(near) == 0 {
			continue
		}
		middles := make([]int, len(near))
		for j, n := range near {
			middles[j] = n.Y + n.H/2
		}
		slices.Sort(middles)
		wanted[i] = (middles[(len(middles)-1)/2]+middles[len(middles)/2])/2 - b.H/2
	}
	separate(column, wanted)
}

// separate moves each box to its wanted position without overlap. Boxes that push each other form a block, whose position is
// the mean of what its boxes want: the method of pooled adjacent violators, which minimises the squares of the distances.
func separate(column []*Box, wanted []int) {
	// sum adds up the positions of the block that its boxes want; height is the block's own, with a gap.
	type block struct{ first, last, height, sum, y int }
	var blocks []block
	for i, b := range column {
		current := block{first: i, last: i, height: b.H + rowGap, sum: wanted[i], y: wanted[i]}
		for len(blocks) > 0 {
			previous := blocks[len(blocks)-1]
			if previous.y+previous.height <= current.y {
				break
			}
			n := current.last - current.first + 1
			current = block{
				first: previous.first, last: current.last, height: previous.height + current.height,
				sum: previous.sum + current.sum - n*previous.height,
			}
			current.y = current.sum / (current.last - current.first + 1)
			blocks = blocks[:len(blocks)-1]
		}
		blocks = append(blocks, current)
	}
	for _, block := range blocks {
		y := block.y
		for _, b := range column[block.first : block.last+1] {
			b.Y = y
			y += b.H + rowGap
		}
	}
}

// route draws each link through the virtual boxes of the columns between its ends.
func (d *Drawing) route(links []*link) {
	for _, l := range links {
		e := Edge{From: l.from, To: l.to, Points: [][2]int{{l.from.X + l.from.W, l.from.Y + l.from.H/2}}}
		for _, b := range l.through {
			e.Points = append(e.Points, [2]int{b.X, b.Y + b.H/2}, [2]int{b.X + b.W, b.Y + b.H/2})
		}
		e.Points = append(e.Points, [2]int{l.to.X, l.to.Y + l.to.H/2})
		d.Edges = append(d.Edges, e)
	}
}
