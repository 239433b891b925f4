package aggregate

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/expr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

type grouping struct {
	in     Source
	now    int64
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
	accs []accumulator
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
		if !accumulates(op) {
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
	return func(in Source, now int64) Source {
		x := g
		x.in, x.now = in, now
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
		b.Add(f.name, grp.accs[i].result())
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
		env := &expr.Env{Root: d, Now: g.now}
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
			grp = &group{id: id.Clone()}
			for _, f := range g.fields {
				grp.accs = append(grp.accs, newAccumulator(f.op))
			}
			byID[string(key)] = grp
			g.out = append(g.out, grp)
			size += len(key)*2 + 64
		}
		for i, f := range g.fields {
			v, err := f.x(env)
			if err != nil {
				return err
			}
			n, err := grp.accs[i].step(v)
			if err != nil {
				return err
			}
			size += n
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
	return func(in Source, _ int64) Source { return &counting{in: in, name: name} }, nil
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

// compileSortByCount is {$group: {_id: x, count: {$sum: 1}}}, {$sort: {count: -1}}.
func compileSortByCount(arg value.Value) (stage, error) {
	if !(arg.T == bson.TypeString && strings.HasPrefix(arg.Str(), "$")) && arg.T != bson.TypeEmbeddedDocument {
		return nil, mongoerr.New(mongoerr.Kind{Code: 40149, Name: "Location40149"}, "the sortByCount field must be a $-prefixed path or an expression in an object")
	}
	g, err := compileGroup(value.OfDoc(value.NewBuilder().Add("_id", arg).Add("count", value.Of(bson.D{{Key: "$sum", Value: int32(1)}})).Done()))
	if err != nil {
		return nil, err
	}
	s, err := compileSortArg(value.Of(bson.D{{Key: "count", Value: int32(-1)}}))
	return func(in Source, now int64) Source { return &sorting{in: g(in, now), by: s} }, err
}
