package graph

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// Node is a task run or a subflow run.
type Node struct {
	ID string
	// Label is the name of the run, with the suffix that the client adds.
	Label string
	// State is the class of the state, such as "failed", or NotReached.
	State string
	// Note follows the label of a box that stands for this node alone, such as a duration.
	Note string
	// Start orders nodes, in microseconds.
	Start int64
	// Parents are the ids of the nodes whose results this one uses. Ids of absent nodes are ignored.
	Parents []string
	// Flow reports a subflow run.
	Flow bool
	// Children are the nodes of an opened subflow run.
	Children []Node
	// Link leads to the run.
	Link string
	// Toggle opens a closed subflow run, and closes an opened one; empty for other nodes.
	Toggle string
}

// NotReached is the state of a node that had not begun when its flow run ended.
const NotReached = "not reached"

const (
	// foldFrom is the number of runs of one name in one column that become one box.
	foldFrom = 4
	// maxBoxes is the number of boxes above which names are folded across columns.
	maxBoxes = 80
	// maxRows is the number of boxes of a column; the rest becomes one box.
	maxRows = 24
	// maxDrawn is the number of boxes above which a drawing has no figure: no reader follows so many.
	maxDrawn = 300
)

// Box is a placed node, or a group of nodes. Positions and sizes are in pixels.
type Box struct {
	// Label is the name of the task or flow, or "more tasks" for the rest of a full column.
	Label string
	// Nodes are the runs that the box stands for, earliest first.
	Nodes []*Node
	// Name is the task or flow of the runs; empty for the rest of a full column.
	Name string
	// Inside is the drawing of an opened subflow run, nil for other boxes.
	Inside     *Drawing
	X, Y, W, H int

	column  int
	order   float64
	in, out []*Box
	// virtual boxes stand where a long edge crosses a column. They are not drawn.
	virtual bool
}

// Edge is a line from the right side of a box to the left side of another one, through the given points.
type Edge struct {
	From, To *Box
	Points   [][2]int
}

// Drawing is the result of Draw.
type Drawing struct {
	// Boxes stand in the order of their columns.
	Boxes []*Box
	Edges []Edge
	W, H  int
	// TooLarge reports that the boxes have no positions, because they are more than maxDrawn.
	TooLarge bool
}

func (b *Box) start() int64 { return b.Nodes[0].Start }
func (b *Box) id() string   { return b.Nodes[0].ID }

// count returns how many nodes have a state.
func (b *Box) count(state string) int {
	n := 0
	for _, node := range b.Nodes {
		if node.State == state {
			n++
		}
	}
	return n
}

// failures returns how many runs of the box failed or crashed.
func (b *Box) failures() int { return b.count("failed") + b.count("crashed") }

// suffix is the end of a run's name, which the client appends to the name of the task.
var suffix = regexp.MustCompile(`-([0-9a-f]{2,8}|[0-9]+)$`)

// TaskName returns the name of a task by the name of its run.
func TaskName(run string) string { return suffix.ReplaceAllString(run, "") }

// name groups the runs of a task or flow. An opened subflow run stands alone.
func (n *Node) name() string {
	switch {
	case len(n.Children) > 0:
		return n.ID
	case n.Flow:
		flow, _, _ := strings.Cut(n.Label, " / ")
		return flow
	}
	return TaskName(n.Label)
}

// earlier orders nodes by start and id.
func earlier(a, b *Node) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.ID, b.ID)) }

// Draw lays out the nodes of one run. The finest drawing with at most maxBoxes boxes wins: runs of one name in one column as
// one box, then one box for each name.
func Draw(nodes []Node) *Drawing {
	sorted := make([]*Node, len(nodes))
	for i := range nodes {
		sorted[i] = &nodes[i]
	}
	slices.SortFunc(sorted, earlier)
	columnOf := columnsOfNodes(sorted)
	boxes, owners := fold(sorted, func(n *Node) groupKey { return groupKey{columnOf[n.ID], n.name()} })
	if len(boxes) > maxBoxes {
		component := componentsOfNames(sorted)
		boxes, owners = fold(sorted, func(n *Node) groupKey { return groupKey{0, component[n.name()]} })
	}
	links := connect(sorted, owners)
	if len(boxes) > maxDrawn {
		return &Drawing{Boxes: boxes, TooLarge: true}
	}
	columnsOfBoxes(boxes, links)
	boxes, links = limitColumns(boxes, links)
	for _, b := range boxes {
		b.size()
	}
	columns := arrange(boxes, links)
	for range sweeps / 2 {
		for i := 1; i < len(columns); i++ {
			reorder(columns[i], func(b *Box) []*Box { return b.in })
		}
		for i := len(columns) - 2; i >= 0; i-- {
			reorder(columns[i], func(b *Box) []*Box { return b.out })
		}
	}
	d := &Drawing{}
	d.position(columns)
	d.route(links)
	return d
}
