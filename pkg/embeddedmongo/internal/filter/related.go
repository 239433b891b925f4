package filter

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Related holds for documents that have a related document: one that matches Far in the collection From, and whose field Foreign
// equals the field Path. It is what $lookup and a $match of its result express together. Both fields are paths without dots. The
// planner binds it to the far side before a filter is matched.
type Related struct {
	Path    string
	From    string
	Foreign string
	Far     *Filter

	values Values
}

// Values are the values of the far side.
type Values interface {
	// Has reports whether an encoded value is among them. Null stands for a missing field too.
	Has(key []byte) (bool, error)
	// Err is the error of an earlier call.
	Err() error
}

// Bind sets the values. A Related belongs to one command.
func (n *Related) Bind(values Values) { n.values = values }

// Values returns what Bind has set.
func (n *Related) Values() Values { return n.values }

func (n *Related) match(d value.Doc, st *state) bool {
	v := d.Get(n.Path)
	if v.T != bson.TypeArray {
		return n.has(v, st)
	}
	for _, e := range v.Doc().Values() {
		if n.has(e, st) {
			return true
		}
	}
	return false
}

func (n *Related) has(v value.Value, st *state) bool {
	var buf [64]byte
	ok, err := n.values.Has(value.AppendKey(buf[:0], v, false))
	if err != nil && st.err == nil {
		st.err = err
	}
	return ok
}

// Relate returns the filter with conditions in place of the comparisons of paths with an empty array, which express that a $lookup has
// found something, or nothing. Any other condition of these paths is NotImplemented.
func (f *Filter) Relate(by map[string]*Related) (*Filter, error) {
	root, err := relateAll(f.root, by)
	return &Filter{root: root, now: f.now}, err
}

func relateAll(nodes []Node, by map[string]*Related) ([]Node, error) {
	out := make([]Node, len(nodes))
	for i, n := range nodes {
		var err error
		if out[i], err = relate(n, by); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func relate(n Node, by map[string]*Related) (Node, error) {
	switch n := n.(type) {
	case And:
		kids, err := relateAll(n, by)
		return And(kids), err
	case Or:
		kids, err := relateAll(n, by)
		return Or(kids), err
	case Nor:
		kids, err := relateAll(n, by)
		return Nor(kids), err
	case Not:
		kid, err := relate(n.Node, by)
		if twice, ok := kid.(Not); ok {
			return twice.Node, err
		}
		return Not{Node: kid}, err
	case *Leaf:
		first, _, dotted := strings.Cut(n.Path, ".")
		related := by[first]
		if related == nil {
			return n, nil
		}
		if dotted || n.Op != Eq || n.Value.T != bson.TypeArray || !n.Value.Doc().Empty() {
			return nil, mongoerr.NotImplemented("condition on the result %q of a $lookup other than its comparison with []", first)
		}
		return Not{Node: related}, nil
	}
	return nil, mongoerr.NotImplemented("$expr behind a $lookup")
}

// All returns the filter that holds where all of them hold. now is as in Compile.
func All(fs []*Filter, now int64) *Filter {
	if len(fs) == 1 {
		return fs[0]
	}
	all := &Filter{now: now}
	for _, f := range fs {
		all.root = append(all.root, f.root...)
	}
	return all
}

// With returns the filter of other conjuncts.
func (f *Filter) With(nodes And) *Filter { return &Filter{root: nodes, now: f.now} }

// InValues returns the condition that a field has one of the values, none of which is null or a regular expression.
func InValues(path string, values []value.Value) *Leaf {
	l := newLeaf(path, In, value.Value{})
	l.List = slices.SortedFunc(slices.Values(values), value.Compare)
	return l
}

// Relations calls f for each relation of a filter, but not for those of its far sides.
func (f *Filter) Relations(do func(*Related) error) error {
	return eachRelated(f.root, do)
}

func eachRelated(nodes []Node, do func(*Related) error) error {
	for _, n := range nodes {
		var err error
		switch n := n.(type) {
		case And:
			err = eachRelated(n, do)
		case Or:
			err = eachRelated(n, do)
		case Nor:
			err = eachRelated(n, do)
		case Not:
			err = eachRelated([]Node{n.Node}, do)
		case *Related:
			err = do(n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
