package expr

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

func compileCond(arg value.Value, sc *scope) (Expr, error) {
	var c, t, f Expr
	if arg.T == bson.TypeArray {
		xs, err := compileList(arg, sc)
		if err != nil {
			return nil, err
		}
		if len(xs) != 3 {
			return nil, mongoerr.New(mongoerr.Kind{Code: 16020, Name: "Location16020"}, "expression $cond takes 3 arguments, %d were passed", len(xs))
		}
		c, t, f = xs[0], xs[1], xs[2]
	} else {
		m, err := namedArgs("$cond", arg, sc, []string{"if", "then", "else"}, nil)
		if err != nil {
			return nil, err
		}
		c, t, f = m["if"], m["then"], m["else"]
	}
	return func(e *Env) (value.Value, error) {
		v, err := c(e)
		if err != nil {
			return v, err
		}
		if v.Truthy() {
			return t(e)
		}
		return f(e)
	}, nil
}

func compileIfNull(arg value.Value, sc *scope) (Expr, error) {
	xs, err := compileList(arg, sc)
	if err != nil {
		return nil, err
	}
	if len(xs) < 2 {
		return nil, mongoerr.New(mongoerr.Kind{Code: 1257300, Name: "Location1257300"}, "$ifNull needs at least two arguments, had %d", len(xs))
	}
	return func(e *Env) (value.Value, error) {
		for _, x := range xs[:len(xs)-1] {
			v, err := x(e)
			if err != nil || !v.IsNullish() {
				return v, err
			}
		}
		return xs[len(xs)-1](e)
	}, nil
}

func compileSwitch(arg value.Value, sc *scope) (Expr, error) {
	if arg.T != bson.TypeEmbeddedDocument {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$switch requires an object as an argument")
	}
	var conds, thens []Expr
	var def Expr
	for it := arg.Doc().Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			break
		}
		switch string(k) {
		case "branches":
			for _, b := range v.Doc().Values() {
				m, err := namedArgs("$switch", b, sc, []string{"case", "then"}, nil)
				if err != nil {
					return nil, err
				}
				conds, thens = append(conds, m["case"]), append(thens, m["then"])
			}
		case "default":
			x, err := compile(v, sc)
			if err != nil {
				return nil, err
			}
			def = x
		default:
			return nil, mongoerr.NotImplemented("argument %q of $switch", k)
		}
	}
	return func(e *Env) (value.Value, error) {
		for i, c := range conds {
			v, err := c(e)
			if err != nil {
				return v, err
			}
			if v.Truthy() {
				return thens[i](e)
			}
		}
		if def == nil {
			return value.Value{}, mongoerr.New(mongoerr.Kind{Code: 40066, Name: "Location40066"}, "$switch could not find a matching branch and has no default")
		}
		return def(e)
	}, nil
}

func compileLet(arg value.Value, sc *scope) (Expr, error) {
	if arg.T != bson.TypeEmbeddedDocument {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$let requires an object as an argument")
	}
	var names []string
	var xs []Expr
	inner := sc
	for it := arg.Doc().Get("vars").Doc().Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			break
		}
		x, err := compile(v, sc)
		if err != nil {
			return nil, err
		}
		names, xs = append(names, string(k)), append(xs, x)
		inner = &scope{string(k), inner}
	}
	in, err := compile(arg.Doc().Get("in"), inner)
	if err != nil {
		return nil, err
	}
	return func(e *Env) (value.Value, error) {
		ne := e
		for i, x := range xs {
			v, err := x(e)
			if err != nil {
				return v, err
			}
			ne = ne.With(names[i], v)
		}
		return in(ne)
	}, nil
}

func compileGetField(arg value.Value, sc *scope) (Expr, error) {
	field, input := arg, Expr(func(e *Env) (value.Value, error) { return value.OfDoc(e.Root), nil })
	if arg.T == bson.TypeEmbeddedDocument {
		field = arg.Doc().Get("field")
		if in := arg.Doc().Get("input"); !in.IsMissing() {
			x, err := compile(in, sc)
			if err != nil {
				return nil, err
			}
			input = x
		}
	}
	if field.T != bson.TypeString {
		return nil, mongoerr.NotImplemented("$getField with a field that is not a constant string")
	}
	name := field.Str()
	return func(e *Env) (value.Value, error) {
		v, err := input(e)
		if err != nil || v.T != bson.TypeEmbeddedDocument {
			return value.Value{}, err
		}
		return v.Doc().Get(name), nil
	}, nil
}
