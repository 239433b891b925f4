package graph

import (
	"cmp"
	"slices"
)

// groupKey identifies the nodes that may share a box.
type groupKey struct {
	column int
	name   string
}

// columnsOfNodes returns the length of the longest path to each node. A cycle, which recorded inputs can have, is cut where
// the search enters it.
func columnsOfNodes(nodes []*Node) map[string]int {
	byID := make(map[string]*Node, len(nodes))
	for _, n := range nodes {
		byID[n.ID] = n
	}
	return longestPaths(nodes, func(n *Node) []*Node {
		var parents []*Node
		for _, id := range n.Parents {
			if parent := byID[id]; parent != nil {
				parents = append(parents, parent)
			}
		}
		return parents
	}, func(n *Node) string { return n.ID })
}

// longestPaths returns the length of the longest path to each item by its key.
func longestPaths[T any](items []T, parents func(T) []T, key func(T) string) map[string]int {
	length, open := make(map[string]int, len(items)), map[string]bool{}
	var visit func(item T) int
	visit = func(item T) int {
		id := key(item)
		if l, done := length[id]; done {
			return l
		}
		open[id] = true
		longest := 0
		for _, parent := range parents(item) {
			if !open[key(parent)] {
				longest = max(longest, visit(parent)+1)
			}
		}
		delete(open, id)
		length[id] = longest
		return longest
	}
	for _, item := range items {
		visit(item)
	}
	return length
}

// componentsOfNames returns, for each name, the name that stands for all that need each other in turn, such as the steps of
// a loop: the strongly connected components of the graph of names, by Tarjan's algorithm. The graph of components has no
// cycle.
func componentsOfNames(nodes []*Node) map[string]string {
	byID := make(map[string]*Node, len(nodes))
	for _, n := range nodes {
		byID[n.ID] = n
	}
	type edge struct{ from, to string }
	next, seen := map[string][]string{}, map[edge]bool{}
	var names []string
	for _, n := range nodes {
		to := n.name()
		if _, exists := next[to]; !exists {
			names, next[to] = append(names, to), nil
		}
		for _, id := range n.Parents {
			parent := byID[id]
			if parent == nil {
				continue
			}
			if e := (edge{parent.name(), to}); e.from != e.to && !seen[e] {
				seen[e] = true
				next[e.from] = append(next[e.from], e.to)
			}
		}
	}
	component, index, low := map[string]string{}, map[string]int{}, map[string]int{}
	var stack []string
	var visit func(v string)
	visit = func(v string) {
		index[v], low[v] = len(index)+1, len(index)+1
		stack = append(stack, v)
		for _, w := range next[v] {
			if index[w] == 0 {
				visit(w)
				low[v] = min(low[v], low[w])
			} else if component[w] == "" {
				low[v] = min(low[v], index[w])
			}
		}
		if low[v] != index[v] {
			return
		}
		first := slices.Index(stack, v)
		for _, w := range stack[first:] {
			component[w] = v
		}
		stack = stack[:first]
	}
	for _, name := range names {
		if index[name] == 0 {
			visit(name)
		}
	}
	return component
}

// fold makes one box of the nodes with one key if there are foldFrom of them, else one box for each. It returns the box of
// each node by id.
func fold(nodes []*Node, key func(*Node) groupKey) ([]*Box, map[string]*Box) {
	count := map[groupKey]int{}
	for _, n := range nodes {
		count[key(n)]++
	}
	var boxes []*Box
	owners, groups := make(map[string]*Box, len(nodes)), map[groupKey]*Box{}
	for _, n := range nodes {
		k := key(n)
		b := groups[k]
		if b == nil || count[k] < foldFrom {
			b = &Box{Label: n.Label, Name: k.name}
			if !n.Flow || count[k] >= foldFrom {
				b.Label = n.name()
			}
			groups[k] = b
			boxes = append(boxes, b)
		}
		b.Nodes = append(b.Nodes, n)
		owners[n.ID] = b
	}
	return boxes, owners
}

// link is an edge between boxes before the drawing has positions. Its virtual boxes stand in the columns between the two boxes.
type link struct {
	from, to *Box
	through  []*Box
}

// connect returns the links between boxes, each once.
func connect(nodes []*Node, owners map[string]*Box) []*link {
	seen := map[[2]*Box]bool{}
	var links []*link
	for _, n := range nodes {
		for _, parent := range n.Parents {
			pair := [2]*Box{owners[parent], owners[n.ID]}
			if pair[0] == nil || pair[0] == pair[1] || seen[pair] {
				continue
			}
			seen[pair] = true
			links = append(links, &link{from: pair[0], to: pair[1]})
		}
	}
	return links
}

// columnsOfBoxes sets the column of each box by the longest path to it.
func columnsOfBoxes(boxes []*Box, links []*link) {
	parents := map[*Box][]*Box{}
	for _, l := range links {
		parents[l.to] = append(parents[l.to], l.from)
	}
	column := longestPaths(boxes, func(b *Box) []*Box { return parents[b] }, (*Box).id)
	for _, b := range boxes {
		b.column = column[b.id()]
	}
}

// limitColumns keeps maxRows boxes of a column, failed ones first, then the earliest; the rest becomes one box. Links that
// then lead nowhere, or against the order of columns, are dropped.
func limitColumns(boxes []*Box, links []*link) ([]*Box, []*link) {
	var columns [][]*Box
	for _, b := range boxes {
		for len(columns) <= b.column {
			columns = append(columns, nil)
		}
		columns[b.column] = append(columns[b.column], b)
	}
	replaced := map[*Box]*Box{}
	var kept []*Box
	for _, column := range columns {
		if len(column) > maxRows {
			slices.SortStableFunc(column, func(a, b *Box) int { return cmp.Compare(min(b.failures(), 1), min(a.failures(), 1)) })
			rest := column[maxRows-1]
			for _, b := range column[maxRows:] {
				replaced[b] = rest
				rest.Nodes = append(rest.Nodes, b.Nodes...)
			}
			slices.SortFunc(rest.Nodes, earlier)
			rest.Label, rest.Name = "more tasks", ""
			column = column[:maxRows]
		}
		kept = append(kept, column...)
	}
	seen := map[[2]*Box]bool{}
	var left []*link
	for _, l := range links {
		pair := [2]*Box{cmp.Or(replaced[l.from], l.from), cmp.Or(replaced[l.to], l.to)}
		if pair[0].column >= pair[1].column || seen[pair] {
			continue
		}
		seen[pair] = true
		left = append(left, &link{from: pair[0], to: pair[1]})
	}
	return kept, left
}
