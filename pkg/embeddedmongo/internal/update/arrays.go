package update

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/index"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// push is the argument of $push or $addToSet.
type push struct {
	each     []value.Value
	position *int64
	slice    *int64
	sort     func(a, b value.Value) int
}

func compilePush(op string, arg value.Value) (*push, error) {
	p := &push{each: []value.Value{arg}}
	if arg.T != bson.TypeEmbeddedDocument {
		return p, nil
	}
	first, _ := arg.Doc().First()
	each := arg.Doc().Get("$each")
	if each.IsMissing() {
		if strings.HasPrefix(first, "$") && first != "$ref" {
			return nil, mongoerr.New(mongoerr.BadValue, "%s modifiers need $each, found %s", op, first)
		}
		return p, nil
	}
	if each.T != bson.TypeArray {
		return nil, mongoerr.New(mongoerr.BadValue, "the argument to $each in %s must be an array but it was of type %s", op, value.TypeName(each.T))
	}
	p.each = each.Doc().Values()
	for it := arg.Doc().Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			return p, nil
		}
		name := string(k)
		if op == "$addToSet" && name != "$each" {
			return nil, mongoerr.New(mongoerr.BadValue, "found unexpected fields after $each in $addToSet: %s", name)
		}
		switch name {
		case "$each":
		case "$slice", "$position":
			n, ok := v.Int()
			if !ok {
				return nil, mongoerr.New(mongoerr.BadValue, "the value for %s must be an integer value but was given type: %s", name, value.TypeName(v.T))
			}
			if name == "$slice" {
				p.slice = &n
			} else {
				p.position = &n
			}
		case "$sort":
			c, err := compileSort(v)
			if err != nil {
				return nil, err
			}
			p.sort = c
		default:
			return nil, mongoerr.New(mongoerr.BadValue, "unrecognized clause in $push: %s", name)
		}
	}
}

// compileSort compiles $push's $sort: 1 or -1 for whole elements, or a sort pattern for documents.
func compileSort(v value.Value) (func(a, b value.Value) int, error) {
	if v.IsNumber() {
		dir, _ := v.Int()
		if dir != 1 && dir != -1 {
			return nil, mongoerr.New(mongoerr.BadValue, "the $sort element value must be either 1 or -1")
		}
		return func(a, b value.Value) int { return int(dir) * value.Compare(a, b) }, nil
	}
	if v.T != bson.TypeEmbeddedDocument || v.Doc().Empty() {
		return nil, mongoerr.New(mongoerr.BadValue, "the $sort is invalid: use 1/-1 to sort the whole element, or {field: 1/-1} to sort embedded fields")
	}
	s, err := index.CompileSort(v.Doc())
	if err != nil {
		return nil, err
	}
	key := func(v value.Value) []byte {
		if v.T != bson.TypeEmbeddedDocument {
			return s.WholeKey(value.EmptyDoc)
		}
		return s.WholeKey(v.Doc())
	}
	return func(a, b value.Value) int { return slices.Compare(key(a), key(b)) }, nil
}

// target finds or creates the array that $push and $addToSet work on.
func target(root *node, path []string, op string) (*node, error) {
	n, _, err := root.make(path, func() (value.Value, error) { return value.OfArray(nil), nil })
	if err != nil {
		return nil, err
	}
	if !n.isArray() {
		return nil, mongoerr.New(mongoerr.BadValue, "the field '%s' must be an array but is of type %s (%s)", join(path), value.TypeName(n.v.T), op)
	}
	n.expand()
	return n, nil
}

func (p *push) apply(root *node, path []string) error {
	n, err := target(root, path, "$push")
	if err != nil {
		return err
	}
	fresh := make([]*node, len(p.each))
	for i, v := range p.each {
		fresh[i] = &node{v: v}
	}
	at := len(n.kids)
	if p.position != nil {
		if i := int(*p.position); i < 0 {
			at = max(0, at+i)
		} else {
			at = min(at, i)
		}
	}
	n.kids = slices.Insert(n.kids, at, fresh...)
	if p.sort != nil {
		slices.SortStableFunc(n.kids, func(a, b *node) int { return p.sort(a.value(), b.value()) })
	}
	if p.slice != nil {
		switch s := int(*p.slice); {
		case s >= 0 && s < len(n.kids):
			n.kids = n.kids[:s]
		case s < 0 && -s < len(n.kids):
			n.kids = n.kids[len(n.kids)+s:]
		}
	}
	return nil
}

func (p *push) addToSet(root *node, path []string) error {
	n, err := target(root, path, "$addToSet")
	if err != nil {
		return err
	}
next:
	for _, v := range p.each {
		for _, k := range n.kids {
			if value.Equal(k.value(), v) {
				continue next
			}
		}
		n.kids = append(n.kids, &node{v: v})
	}
	return nil
}

// compilePull compiles the test of $pull: a value to equal, operators for the element, or a filter for elements that are documents.
func compilePull(arg value.Value) (func(value.Value) bool, error) {
	if arg.T == bson.TypeEmbeddedDocument {
		if k, _ := arg.Doc().First(); !strings.HasPrefix(k, "$") || k == "$and" || k == "$or" || k == "$nor" {
			f, err := filter.Compile(arg.Doc())
			if err != nil {
				return nil, err
			}
			return func(v value.Value) bool { return v.T == bson.TypeEmbeddedDocument && f.Match(v.Doc()) }, nil
		}
	}
	if arg.T != bson.TypeEmbeddedDocument && arg.T != bson.TypeRegex {
		return func(v value.Value) bool { return value.Equal(v, arg) }, nil
	}
	f, err := filter.Compile(value.NewBuilder().Add("e", arg).Done())
	if err != nil {
		return nil, err
	}
	return func(v value.Value) bool { return f.Match(value.NewBuilder().Add("e", v).Done()) }, nil
}

func applyPull(root *node, path []string, m modifier) error {
	n, blocked := root.find(path)
	if blocked != nil {
		return notViable(path, blocked)
	}
	if n == nil {
		return nil
	}
	if !n.isArray() {
		return mongoerr.New(mongoerr.BadValue, "cannot apply %s to a non-array value", m.op)
	}
	n.expand()
	var kept []*node
	for _, k := range n.kids {
		v := k.value()
		drop := false
		if m.pull != nil {
			drop = m.pull(v)
		} else {
			for _, x := range m.arg.Doc().Values() {
				drop = drop || value.Equal(x, v)
			}
		}
		if !drop {
			kept = append(kept, k)
		}
	}
	n.kids = kept
	return nil
}
