package query

import (
	"fmt"

	"google.golang.org/protobuf/proto"
)

// Plan is a compiled query: documents of one collection that match their own filter and have related documents.
type Plan struct {
	own  Collection
	root node
}

// NewPlan compiles a query or count message (FlowRunQuery, FlowCountQuery, …) for documents of own. Fields that name a
// collection are filters; it ignores others, such as sort and limit.
func NewPlan(own Collection, q proto.Message) (Plan, error) {
	p := Plan{own: own, root: matchAll{}}
	if q == nil || !q.ProtoReflect().IsValid() {
		return p, nil
	}
	m := q.ProtoReflect()
	tree := &branch{at: own}
	fds := m.Descriptor().Fields()
	for i := range fds.Len() {
		fd := fds.Get(i)
		c, ok := FieldCollection(own, string(fd.Name()))
		if !ok || fd.Message() == nil || !m.Has(fd) {
			continue
		}
		n, err := compileMessage(m.Get(fd).Message(), "")
		if err != nil {
			return Plan{}, fmt.Errorf("query: %s: %w", fd.Name(), err)
		}
		route := routes[own][c]
		if c != own && route == nil {
			return Plan{}, fmt.Errorf("query: %s by %s: %w", own, c, ErrUnsupported)
		}
		b := tree
		for _, rel := range route {
			b = b.to(rel)
		}
		b.filters = append(b.filters, n)
	}
	p.root = tree.node()
	return p, nil
}

// PlanOf returns a plan of one filter message for documents of own.
func PlanOf(own Collection, filter proto.Message) (Plan, error) {
	f, err := Compile(filter)
	return Plan{own: own, root: f.root}, err
}

// branch is a collection on the route to others, with the criteria of one document of it.
type branch struct {
	at      Collection
	by      relation
	filters []node
	next    []*branch
}

// to follows a relation, and reuses a branch that exists.
func (b *branch) to(rel relation) *branch {
	for _, n := range b.next {
		if n.by == rel {
			return n
		}
	}
	n := &branch{at: rel.to, by: rel}
	b.next = append(b.next, n)
	return n
}

func (b *branch) node() node {
	kids := b.filters
	for _, n := range b.next {
		n = n.shortened()
		kids = append(kids, exists{rel: n.by, in: n.node()})
	}
	return and(kids...)
}

// shortcuts are the relations to task runs that their documents have themselves, by the relation to the flow runs in between.
var shortcuts = map[relation]relation{flowRuns: flowTaskRuns, deploymentRuns: deploymentTaskRuns}

// shortened returns the branch of the task runs behind flow runs without criteria: a task run refers to the flow and the deployment
// of its flow run.
func (b *branch) shortened() *branch {
	direct, ok := shortcuts[b.by]
	if !ok || len(b.filters) > 0 || len(b.next) != 1 || b.next[0].by != runTaskRuns {
		return b
	}
	n := *b.next[0]
	n.by = direct
	return &n
}
