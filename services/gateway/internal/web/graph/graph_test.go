package graph

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func node(id, state string, start int64, parents ...string) Node {
	return Node{ID: id, Label: id, State: state, Start: start, Parents: parents, Link: "/" + id}
}

func task(name string) string { return "/tasks?q=" + name }

// mapped is a chain of mapped tasks: each of the n runs of a stage needs one of the stage before.
func mapped(stages, n int) []Node {
	var nodes []Node
	for s := range stages {
		for i := range n {
			var parents []string
			if s > 0 {
				parents = []string{fmt.Sprintf("stage%c-%d", 'a'+s-1, i)}
			}
			nodes = append(nodes, node(fmt.Sprintf("stage%c-%d", 'a'+s, i), "completed", int64(s*n+i), parents...))
		}
	}
	return nodes
}

// orders is a run with a mapped task that failed, an opened subflow, and tasks that were not reached.
func orders() []Node {
	nodes := []Node{node("regions", "completed", 1), node("calendar", "completed", 2)}
	var fetches []string
	for i := range 40 {
		id, state := fmt.Sprintf("fetch-%d", i), "completed"
		if i == 7 {
			state = "failed"
		}
		nodes, fetches = append(nodes, node(id, state, int64(10+i), "regions")), append(fetches, id)
	}
	quality := node("quality", "completed", 12, "regions")
	quality.Flow, quality.Label, quality.Toggle = true, "quality / proud-lemur", "?"
	quality.Children = []Node{node("sample", "completed", 13), node("nulls", "completed", 14, "sample"), node("drift", "completed", 15, "sample"), node("score", "completed", 16, "nulls", "drift")}
	return append(nodes, quality, node("merge", NotReached, 60, append(fetches, "calendar")...), node("validate", NotReached, 63, "merge"), node("publish", NotReached, 64, "validate", "quality"))
}

func titles(d *Drawing) []string {
	var all []string
	for _, b := range d.Boxes {
		all = append(all, b.Title())
	}
	return all
}

func wellFormed(t require.TestingT, text string) {
	d := xml.NewDecoder(strings.NewReader("<x>" + text + "</x>"))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}

func TestDraw(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var crowd []Node
	for i := range 30 {
		crowd = append(crowd, node(fmt.Sprintf("task%c%c", 'a'+i/10, 'a'+i%10), map[bool]string{true: "failed", false: "completed"}[i == 29], int64(i)))
	}
	var names []Node
	for i := range 200 {
		n := node(fmt.Sprintf("step%c-%d", 'a'+i%4, i), "completed", int64(i))
		if i > 0 {
			n.Parents = []string{names[i-1].ID}
		}
		names = append(names, n)
	}
	for _, c := range []struct {
		name  string
		nodes []Node
		boxes []string
	}{
		{"no node", nil, nil},
		{"runs of one name in one column are one box", mapped(3, 50), []string{"stagea ×50", "stageb ×50", "stagec ×50"}},
		{"three runs of one name stay apart", mapped(1, 3), []string{"stagea", "stagea", "stagea"}},
		{"names that need each other in turn are one box when boxes are many", names, []string{"stepa ×200"}},
		{"a cycle is cut", []Node{node("a", "completed", 1, "b"), node("b", "completed", 2, "a")}, []string{"b", "a"}},
		{"a parent of another run is ignored", []Node{node("a", "completed", 1, "absent")}, []string{"a"}},
		{"a run that needs itself", []Node{node("a", "completed", 1, "a")}, []string{"a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.boxes, titles(Draw(c.nodes)))
		})
	}
	t.Run("a full column keeps failed boxes", func(t *testing.T) {
		t.Parallel()
		d := Draw(crowd)
		require.Len(t, d.Boxes, maxRows)
		require.Contains(t, titles(d), "taskcj")
		require.Contains(t, titles(d), "more tasks ×7")
	})
	t.Run("a picture that nobody follows is not drawn", func(t *testing.T) {
		t.Parallel()
		var chain []Node
		for i := range 400 {
			n := node(fmt.Sprintf("task%cx%cx%c", 'g'+i/100, 'g'+i/10%10, 'g'+i%10), "completed", int64(i))
			for _, earlier := range chain {
				n.Parents = append(n.Parents, earlier.ID)
			}
			chain = append(chain, n)
		}
		d := Draw(chain)
		require.True(t, d.TooLarge)
		require.True(t, d.Markup(task).Empty())
		require.False(t, Draw(chain[:maxDrawn]).Markup(task).Empty(), "the links of each box with each other are bounded")
	})
	t.Run("the order of the nodes changes nothing", func(t *testing.T) {
		t.Parallel()
		want := Draw(orders()).Markup(task).Source()
		shuffled := orders()
		random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		require.Equal(t, want, Draw(shuffled).Markup(task).Source())
	})
}

func TestMarkup(t *testing.T) {
	t.Parallel()
	d := Draw(orders())
	text := d.Markup(task).Source()
	wellFormed(t, text)
	for _, part := range []string{`href="/tasks?q=fetch"`, `aria-label="fetch ×40, 1 failed, 39 completed"`, `class="edge hot"`, `aria-label="close quality`, "after fetch, calendar"} {
		require.Contains(t, text, part)
	}
	require.Empty(t, Draw(nil).Markup(task).Source())
	evil := node(`<script>"&`, "failed", 1)
	wellFormed(t, Draw([]Node{evil}).Markup(task).Source())
	require.NotContains(t, Draw([]Node{evil}).Markup(task).Source(), "<script>")
}

// overlap fails if two boxes of a drawing, or of one inside it, overlap or leave it.
func overlap(t require.TestingT, d *Drawing) {
	for i, a := range d.Boxes {
		require.True(t, a.X >= 0 && a.Y >= 0 && a.X+a.W <= d.W && a.Y+a.H <= d.H, "%s leaves the drawing", a.Title())
		for _, b := range d.Boxes[:i] {
			apart := a.X+a.W <= b.X || b.X+b.W <= a.X || a.Y+a.H <= b.Y || b.Y+b.H <= a.Y
			require.True(t, apart, "%s and %s overlap", a.Title(), b.Title())
		}
		if a.Inside != nil {
			overlap(t, a.Inside)
		}
	}
}

// TestDrawAnyGraph draws arbitrary graphs, cycles included: each run is in one box, boxes do not overlap, edges lead to the
// right, and the markup is well-formed.
func TestDrawAnyGraph(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 150).Draw(t, "nodes")
		names := rapid.IntRange(1, 100).Draw(t, "names")
		nodes := make([]Node, n)
		for i := range nodes {
			nodes[i] = node(fmt.Sprintf("task%d-%03d", rapid.IntRange(0, names).Draw(t, "name"), i), rapid.SampledFrom(states).Draw(t, "state"), rapid.Int64Range(0, 9).Draw(t, "start"))
			for range rapid.IntRange(0, 3).Draw(t, "parents") {
				nodes[i].Parents = append(nodes[i].Parents, nodes[rapid.IntRange(0, i).Draw(t, "parent")].ID)
			}
		}
		if n > 1 {
			nodes[0].Parents = append(nodes[0].Parents, nodes[n-1].ID)
			nodes[n/2].Flow, nodes[n/2].Children = true, []Node{node("inner", "completed", 1), node("last", "failed", 2, "inner")}
		}
		d := Draw(nodes)
		drawn := 0
		for _, b := range d.Boxes {
			drawn += len(b.Nodes)
		}
		require.Equal(t, n, drawn)
		overlap(t, d)
		for _, e := range d.Edges {
			require.Less(t, e.From.X+e.From.W, e.To.X)
		}
		wellFormed(t, d.Markup(task).Source())
	})
}

func BenchmarkDraw(b *testing.B) {
	for _, c := range []struct {
		name  string
		nodes []Node
	}{{"2000 tasks in 5 stages", mapped(5, 400)}, {"10000 tasks in 5 stages", mapped(5, 2000)}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				b.SetBytes(int64(len(Draw(c.nodes).Markup(task).Source())))
			}
		})
	}
}
