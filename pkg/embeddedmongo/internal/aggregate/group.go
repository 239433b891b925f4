package aggregate

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/expr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// Accumulators are the accumulators of $group.
var Accumulators = []string{"$sum", "$min", "$max", "$count"}

type grouping struct {
	in     Source
	id     expr.Expr
	fields []groupField
	ready  bool
	out    []*group
}

type groupField struct {
	name string
	op   string
	x    expr.Expr
}

type group struct {
	id   value.Value
	accs []expr.Accumulation
}

func compileGroup(arg value.Value) (stage, error) {
	if arg.T != bson.TypeEmbeddedDocument {
		return nil, mongoerr.New(mongoerr.Kind{Code: 15947, Name: "Location15947"}, "a group's fields must be specified in an object")
	}
	g := grouping{}
	for it := arg.Doc().Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			break
		}
		name := string(k)
		if name == "_id" {
			x, err := expr.Compile(v)
			if err != nil {
				return nil, err
			}
			g.id = x
			continue
		}
		if strings.Contains(name, ".") || v.T != bson.TypeEmbeddedDocument || v.Doc().Len() != 1 {
			return nil, mongoerr.New(mongoerr.Kind{Code: 40234, Name: "Location40234"}, "the field '%s' must be an accumulator object", name)
		}
		op, a := v.Doc().First()
		if !slices.Contains(Accumulators, op) {
			return nil, mongoerr.NotImplemented("group accumulator %s", op)
		}
		if op == "$count" {
			if a.T != bson.TypeEmbeddedDocument || !a.Doc().Empty() {
				return nil, mongoerr.New(mongoerr.TypeMismatch, "$count takes no arguments, i.e. $count:{}")
			}
			op, a = "$sum", value.OfInt32(1)
		}
		x, err := expr.Compile(a)
		if err != nil {
			return nil, err
		}
		g.fields = append(g.fields, groupField{name, op, x})
	}
	if g.id == nil {
		return nil, mongoerr.New(mongoerr.Kind{Code: 15955, Name: "Location15955"}, "a group specification must include an _id")
	}
	return func(in Source) Source {
		x := g
		x.in = in
		return &x
	}, nil
}

func (g *grouping) Next() (value.Doc, bool, error) {
	if !g.ready {
		if err := g.collect(); err != nil {
			return nil, false, err
		}
		g.ready = true
	}
	if len(g.out) == 0 {
		return nil, false, nil
	}
	grp := g.out[0]
	g.out = g.out[1:]
	b := value.NewBuilder().Add("_id", grp.id)
	for i, f := range g.fields {
		b.Add(f.name, grp.accs[i].Result(f.op))
	}
	return b.Done(), true, nil
}

func (g *grouping) collect() error {
	byID := map[string]*group{}
	size := 0
	var key []byte
	for {
		d, ok, err := g.in.Next()
		if err != nil || !ok {
			return err
		}
		env := &expr.Env{Root: d}
		id, err := g.id(env)
		if err != nil {
			return err
		}
		if id.IsMissing() {
			id = value.Null
		}
		key = value.AppendKey(key[:0], id, false)
		grp := byID[string(key)]
		if grp == nil {
			grp = &group{id: id.Clone(), accs: make([]expr.Accumulation, len(g.fields))}
			byID[string(key)] = grp
			g.out = append(g.out, grp)
			size += len(key)*2 + 64 + 48*len(g.fields)
		}
		for i, f := range g.fields {
			v, err := f.x(env)
			if err != nil {
				return err
			}
			if err := grp.accs[i].Step(f.op, v); err != nil {
				return err
			}
		}
		if size > memory {
			return tooMuch("$group")
		}
	}
}

func compileCount(arg value.Value) (stage, error) {
	if arg.T != bson.TypeString {
		return nil, mongoerr.New(mongoerr.Kind{Code: 40156, Name: "Location40156"}, "the count field must be a non-empty string")
	}
	name := arg.Str()
	if err := checkCountField(name); err != nil {
		return nil, err
	}
	return func(in Source) Source { return &counting{in: in, name: name} }, nil
}

func checkCountField(name string) error {
	if name == "" || name[0] == '$' || strings.ContainsAny(name, ".\x00") {
		return mongoerr.New(mongoerr.Kind{Code: 40157, Name: "Location40157"}, "%q cannot be the count field", name)
	}
	return nil
}

type counting struct {
	in   Source
	name string
	done bool
}

func (c *counting) Next() (value.Doc, bool, error) {
	if c.done {
		return nil, false, nil
	}
	c.done = true
	for n := int64(0); ; n++ {
		_, ok, err := c.in.Next()
		if err != nil {
			return nil, false, err
		}
		if !ok {
			return value.NewBuilder().Add(c.name, value.OfInt(n)).Done(), n > 0, nil
		}
	}
}
