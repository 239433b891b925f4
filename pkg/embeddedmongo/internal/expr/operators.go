package expr

import (
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
type special func(arg value.Value, sc *scope) (Expr, error)

// Operators lists the names of all operators that Compile knows.
func Operators() []string {
	var s []string
	for _, m := range functionTables() {
		for k := range m {
			s = append(s, k)
		}
	}
	for k := range specials() {
		s = append(s, k)
	}
	return s
}

func functionTables() []map[string]function {
	return []map[string]function{arithmetic, comparisons, strings_, arrays, dates, conversions}
}

func specials() map[string]special {
	return map[string]special{
		"$literal": func(arg value.Value, _ *scope) (Expr, error) { return Const(arg), nil },
		"$expr":    compile,
		"$and":     compileAnd, "$or": compileOr, "$cond": compileCond, "$ifNull": compileIfNull, "$switch": compileSwitch,
		"$let": compileLet, "$map": compileMap, "$filter": compileFilter, "$reduce": compileReduce,
		"$sum": compileFold("$sum"), "$avg": compileFold("$avg"), "$min": compileFold("$min"), "$max": compileFold("$max"),
		"$first": compileEnd(true), "$last": compileEnd(false),
		"$dateTrunc": compileDateTrunc, "$dateToString": compileDateToString, "$dateAdd": compileDateAdd(1),
		"$dateSubtract": compileDateAdd(-1), "$dateDiff": compileDateDiff,
		"$getField": compileGetField,
	}
}

func compileOperator(name string, arg value.Value, sc *scope) (Expr, error) {
	for _, m := range functionTables() {
		if f, ok := m[name]; ok {
			return compileFunction(name, f, arg, sc)
		}
	}
	if s, ok := specials()[name]; ok {
		return s(arg, sc)
	}
	return nil, mongoerr.NotImplemented("expression operator %s", name)
}

func compileFunction(name string, f function, arg value.Value, sc *scope) (Expr, error) {
	xs, err := compileList(arg, sc)
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

var comparisons = map[string]function{
	"$eq":  {2, 2, comparison(func(c int) bool { return c == 0 })},
	"$ne":  {2, 2, comparison(func(c int) bool { return c != 0 })},
	"$gt":  {2, 2, comparison(func(c int) bool { return c > 0 })},
	"$gte": {2, 2, comparison(func(c int) bool { return c >= 0 })},
	"$lt":  {2, 2, comparison(func(c int) bool { return c < 0 })},
	"$lte": {2, 2, comparison(func(c int) bool { return c <= 0 })},
	"$cmp": {2, 2, func(_ *Env, a []value.Value) (value.Value, error) {
		return value.OfInt32(int32(compare(a[0], a[1]))), nil
	}},
	"$not": {1, 1, func(_ *Env, a []value.Value) (value.Value, error) { return value.OfBool(!a[0].Truthy()), nil }},
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

func compileAnd(arg value.Value, sc *scope) (Expr, error) { return compileBool(arg, sc, false) }
func compileOr(arg value.Value, sc *scope) (Expr, error)  { return compileBool(arg, sc, true) }

// compileBool stops at the first argument whose truth is the deciding one.
func compileBool(arg value.Value, sc *scope, deciding bool) (Expr, error) {
	xs, err := compileList(arg, sc)
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

// namedArgs compiles the fields of an operator's document argument; names outside required and optional are errors.
func namedArgs(op string, arg value.Value, sc *scope, required, optional []string) (map[string]Expr, error) {
	if arg.T != bson.TypeEmbeddedDocument {
		return nil, mongoerr.New(mongoerr.FailedToParse, "%s requires an object as an argument", op)
	}
	m := map[string]Expr{}
	for it := arg.Doc().Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			break
		}
		name := string(k)
		if !contains(required, name) && !contains(optional, name) {
			return nil, mongoerr.NotImplemented("argument %q of %s", name, op)
		}
		x, err := compile(v, sc)
		if err != nil {
			return nil, err
		}
		m[name] = x
	}
	for _, r := range required {
		if m[r] == nil {
			return nil, mongoerr.New(mongoerr.FailedToParse, "%s requires the argument %q", op, r)
		}
	}
	return m, nil
}

func contains(s []string, x string) bool {
	return slices.Contains(s, x)
}
