package expr

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

func compileCond(arg value.Value) (Expr, error) {
	var c, t, f Expr
	if arg.T == bson.TypeArray {
		xs, err := compileList(arg)
		if err != nil {
			return nil, err
		}
		if len(xs) != 3 {
			return nil, mongoerr.New(mongoerr.Kind{Code: 16020, Name: "Location16020"}, "expression $cond takes 3 arguments, %d were passed", len(xs))
		}
		c, t, f = xs[0], xs[1], xs[2]
	} else {
		if arg.T != bson.TypeEmbeddedDocument || arg.Doc().Len() != 3 {
			return nil, mongoerr.New(mongoerr.FailedToParse, "$cond requires if, then and else")
		}
		for name, x := range map[string]*Expr{"if": &c, "then": &t, "else": &f} {
			v := arg.Doc().Get(name)
			if v.IsMissing() {
				return nil, mongoerr.New(mongoerr.FailedToParse, "$cond requires %s", name)
			}
			var err error
			if *x, err = Compile(v); err != nil {
				return nil, err
			}
		}
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

func compileIfNull(arg value.Value) (Expr, error) {
	xs, err := compileList(arg)
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
