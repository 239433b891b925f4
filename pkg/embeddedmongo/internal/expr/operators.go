package expr

import (
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// function is an operator whose arguments are all evaluated first. hi < 0 means any number of arguments.
type function struct {
	lo, hi int
	f      func(e *Env, a []value.Value) (value.Value, error)
}

// special is an operator that compiles its own argument.
type special func(arg value.Value) (Expr, error)

// Operators lists the names of all operators that Compile knows.
func Operators() []string {
	return slices.Concat(slices.Collect(maps.Keys(functions())), slices.Collect(maps.Keys(specials())))
}

func functions() map[string]function {
	return map[string]function{
		"$add": {0, -1, add}, "$subtract": {2, 2, subtract}, "$multiply": {0, -1, multiply}, "$divide": {2, 2, divide}, "$floor": {1, 1, floor},
		"$eq":  {2, 2, comparison(func(c int) bool { return c == 0 })},
		"$ne":  {2, 2, comparison(func(c int) bool { return c != 0 })},
		"$gt":  {2, 2, comparison(func(c int) bool { return c > 0 })},
		"$gte": {2, 2, comparison(func(c int) bool { return c >= 0 })},
		"$lt":  {2, 2, comparison(func(c int) bool { return c < 0 })},
		"$lte": {2, 2, comparison(func(c int) bool { return c <= 0 })},
		"$not": {1, 1, func(_ *Env, a []value.Value) (value.Value, error) { return value.OfBool(!a[0].Truthy()), nil }},
		"$in":  {2, 2, in},
	}
}

func specials() map[string]special {
	return map[string]special{
		"$literal": func(arg value.Value) (Expr, error) { return Const(arg), nil },
		"$and":     compileAnd, "$or": compileOr, "$cond": compileCond, "$ifNull": compileIfNull,
		"$sum": compileFold("$sum"), "$min": compileFold("$min"), "$max": compileFold("$max"),
	}
}

func compileOperator(name string, arg value.Value) (Expr, error) {
	if f, ok := functions()[name]; ok {
		return compileFunction(name, f, arg)
	}
	if s, ok := specials()[name]; ok {
		return s(arg)
	}
	return nil, mongoerr.NotImplemented("expression operator %s", name)
}

// in reports whether an array has a value.
func in(_ *Env, a []value.Value) (value.Value, error) {
	if a[1].T != bson.TypeArray {
		return a[1], mongoerr.New(mongoerr.Kind{Code: 40081, Name: "Location40081"}, "$in requires an array as a second argument, found: %s", value.TypeName(a[1].T))
	}
	return value.OfBool(slices.ContainsFunc(a[1].Doc().Values(), func(v value.Value) bool { return compare(a[0], v) == 0 })), nil
}

func compileFunction(name string, f function, arg value.Value) (Expr, error) {
	xs, err := compileList(arg)
	if err != nil {
		return nil, err
	}
	if len(xs) < f.lo || (f.hi >= 0 && len(xs) > f.hi) {
		return nil, mongoerr.New(mongoerr.Kind{Code: 16020, Name: "Location16020"}, "expression %s takes %d arguments, %d were passed", name, f.lo, len(xs))
	}
	return func(e *Env) (value.Value, error) {
		var buf [4]value.Value
		vs := buf[:0]
		for _, x := range xs {
			v, err := x(e)
			if err != nil {
				return v, err
			}
			vs = append(vs, v)
		}
		return f.f(e, vs)
	}, nil
}

// compare orders as expressions do: a missing value comes before null.
func compare(a, b value.Value) int {
	if a.IsMissing() != b.IsMissing() && a.IsNullish() && b.IsNullish() {
		if a.IsMissing() {
			return -1
		}
		return 1
	}
	return value.Compare(a, b)
}

func comparison(ok func(int) bool) func(*Env, []value.Value) (value.Value, error) {
	return func(_ *Env, a []value.Value) (value.Value, error) { return value.OfBool(ok(compare(a[0], a[1]))), nil }
}

func compileAnd(arg value.Value) (Expr, error) { return compileBool(arg, false) }
func compileOr(arg value.Value) (Expr, error)  { return compileBool(arg, true) }

// compileBool stops at the first argument whose truth is the deciding one.
func compileBool(arg value.Value, deciding bool) (Expr, error) {
	xs, err := compileList(arg)
	if err != nil {
		return nil, err
	}
	return func(e *Env) (value.Value, error) {
		for _, x := range xs {
			v, err := x(e)
			if err != nil {
				return v, err
			}
			if v.Truthy() == deciding {
				return value.OfBool(deciding), nil
			}
		}
		return value.OfBool(!deciding), nil
	}, nil
}
