package expr

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

var arrays = map[string]function{
	"$size":          {1, 1, size},
	"$in":            {2, 2, in},
	"$isArray":       {1, 1, func(_ *Env, a []value.Value) (value.Value, error) { return value.OfBool(a[0].T == bson.TypeArray), nil }},
	"$arrayElemAt":   {2, 2, arrayElemAt},
	"$concatArrays":  {0, -1, concatArrays},
	"$slice":         {2, 3, slice},
	"$mergeObjects":  {0, -1, MergeObjects},
	"$objectToArray": {1, 1, objectToArray},
	"$arrayToObject": {1, 1, arrayToObject},
	"$reverseArray":  {1, 1, reverseArray},
	"$setUnion":      {0, -1, setUnion},
}

func notArray(op string, v value.Value) error {
	return mongoerr.New(mongoerr.Kind{Code: 17124, Name: "Location17124"}, "the argument to %s must be an array, but was of type %s", op, value.TypeName(v.T))
}

func size(_ *Env, a []value.Value) (value.Value, error) {
	if a[0].T != bson.TypeArray {
		return a[0], notArray("$size", a[0])
	}
	return value.OfInt32(int32(a[0].Doc().Len())), nil
}

func in(_ *Env, a []value.Value) (value.Value, error) {
	if a[1].T != bson.TypeArray {
		return a[1], notArray("$in", a[1])
	}
	for _, e := range a[1].Doc().Values() {
		if compare(a[0], e) == 0 {
			return value.True, nil
		}
	}
	return value.False, nil
}

func arrayElemAt(_ *Env, a []value.Value) (value.Value, error) {
	if a[0].IsNullish() || a[1].IsNullish() {
		return value.Null, nil
	}
	i, ok := a[1].Int()
	if a[0].T != bson.TypeArray || !ok {
		return a[0], notArray("$arrayElemAt", a[0])
	}
	vs := a[0].Doc().Values()
	if i < 0 {
		i += int64(len(vs))
	}
	if i < 0 || i >= int64(len(vs)) {
		return value.Value{}, nil
	}
	return vs[i], nil
}

func concatArrays(_ *Env, a []value.Value) (value.Value, error) {
	var out []value.Value
	for _, v := range a {
		if v.IsNullish() {
			return value.Null, nil
		}
		if v.T != bson.TypeArray {
			return v, notArray("$concatArrays", v)
		}
		out = append(out, v.Doc().Values()...)
	}
	return value.OfArray(out), nil
}

func slice(_ *Env, a []value.Value) (value.Value, error) {
	for _, v := range a {
		if v.IsNullish() {
			return value.Null, nil
		}
	}
	if a[0].T != bson.TypeArray {
		return a[0], notArray("$slice", a[0])
	}
	vs := a[0].Doc().Values()
	n, ok := a[1].Int()
	if !ok {
		return a[1], mongoerr.New(mongoerr.BadValue, "$slice arguments must be integers")
	}
	if len(a) == 2 {
		return value.OfArray(Slice(vs, n)), nil
	}
	count, ok := a[2].Int()
	if !ok || count <= 0 {
		return a[2], mongoerr.New(mongoerr.BadValue, "the third argument to $slice must be a positive integer")
	}
	return value.OfArray(SliceFrom(vs, n, count)), nil
}

// Slice keeps the first n elements, or the last -n.
func Slice(vs []value.Value, n int64) []value.Value {
	switch {
	case n >= 0 && n < int64(len(vs)):
		return vs[:n]
	case n < 0 && -n < int64(len(vs)):
		return vs[int64(len(vs))+n:]
	}
	return vs
}

// SliceFrom skips from elements (from the end when negative) and keeps count.
func SliceFrom(vs []value.Value, from, count int64) []value.Value {
	l := int64(len(vs))
	if from < 0 {
		from = max(from+l, 0)
	}
	from = min(from, l)
	return vs[from:min(l, from+count)]
}

// MergeObjects merges documents; later ones win, a field keeps its first place.
func MergeObjects(_ *Env, a []value.Value) (value.Value, error) {
	if len(a) == 1 && a[0].T == bson.TypeArray {
		a = a[0].Doc().Values()
	}
	var keys []string
	m := map[string]value.Value{}
	for _, v := range a {
		if v.IsNullish() {
			continue
		}
		if v.T != bson.TypeEmbeddedDocument {
			return v, mongoerr.New(mongoerr.Kind{Code: 40400, Name: "Location40400"}, "$mergeObjects requires object inputs, not %s", value.TypeName(v.T))
		}
		for it := v.Doc().Iter(); ; {
			k, e, ok := it.Next()
			if !ok {
				break
			}
			if _, seen := m[string(k)]; !seen {
				keys = append(keys, string(k))
			}
			m[string(k)] = e
		}
	}
	b := value.NewBuilder()
	for _, k := range keys {
		b.Add(k, m[k])
	}
	return value.OfDoc(b.Done()), nil
}

func objectToArray(_ *Env, a []value.Value) (value.Value, error) {
	if a[0].IsNullish() {
		return value.Null, nil
	}
	if a[0].T != bson.TypeEmbeddedDocument {
		return a[0], mongoerr.New(mongoerr.Kind{Code: 40390, Name: "Location40390"}, "$objectToArray requires a document input")
	}
	var out []value.Value
	for it := a[0].Doc().Iter(); ; {
		k, v, ok := it.Next()
		if !ok {
			return value.OfArray(out), nil
		}
		out = append(out, value.OfDoc(value.NewBuilder().Add("k", value.OfString(string(k))).Add("v", v).Done()))
	}
}

func arrayToObject(_ *Env, a []value.Value) (value.Value, error) {
	if a[0].IsNullish() {
		return value.Null, nil
	}
	if a[0].T != bson.TypeArray {
		return a[0], notArray("$arrayToObject", a[0])
	}
	b := value.NewBuilder()
	for _, e := range a[0].Doc().Values() {
		var k, v value.Value
		if e.T == bson.TypeArray {
			k, v = e.Doc().At(0), e.Doc().At(1)
		} else {
			k, v = e.Doc().Get("k"), e.Doc().Get("v")
		}
		if k.T != bson.TypeString {
			return e, mongoerr.New(mongoerr.Kind{Code: 40394, Name: "Location40394"}, "$arrayToObject requires key and value pairs with string keys")
		}
		b.Add(k.Str(), v)
	}
	return value.OfDoc(b.Done()), nil
}

func reverseArray(_ *Env, a []value.Value) (value.Value, error) {
	if a[0].IsNullish() {
		return value.Null, nil
	}
	if a[0].T != bson.TypeArray {
		return a[0], notArray("$reverseArray", a[0])
	}
	vs := a[0].Doc().Values()
	for i, j := 0, len(vs)-1; i < j; i, j = i+1, j-1 {
		vs[i], vs[j] = vs[j], vs[i]
	}
	return value.OfArray(vs), nil
}

func setUnion(_ *Env, a []value.Value) (value.Value, error) {
	var out []value.Value
	for _, v := range a {
		if v.IsNullish() {
			return value.Null, nil
		}
		if v.T != bson.TypeArray {
			return v, notArray("$setUnion", v)
		}
	next:
		for _, e := range v.Doc().Values() {
			for _, o := range out {
				if value.Equal(o, e) {
					continue next
				}
			}
			out = append(out, e)
		}
	}
	return value.OfArray(out), nil
}

// iterate compiles the shared part of $map and $filter: input, the variable's name, and the expression under that variable.
func iterate(op, body string, optional []string, arg value.Value, sc *scope) (input, inner Expr, as string, err error) {
	if arg.T != bson.TypeEmbeddedDocument {
		return nil, nil, "", mongoerr.New(mongoerr.FailedToParse, "%s requires an object as an argument", op)
	}
	as = "this"
	if v := arg.Doc().Get("as"); v.T == bson.TypeString {
		as = v.Str()
	}
	for it := arg.Doc().Iter(); ; {
		k, _, ok := it.Next()
		if !ok {
			break
		}
		if !contains(append([]string{"input", "as", body}, optional...), string(k)) {
			return nil, nil, "", mongoerr.NotImplemented("argument %q of %s", k, op)
		}
	}
	if input, err = compile(arg.Doc().Get("input"), sc); err != nil {
		return nil, nil, "", err
	}
	inner, err = compile(arg.Doc().Get(body), &scope{as, sc})
	return input, inner, as, err
}

func compileMap(arg value.Value, sc *scope) (Expr, error) {
	input, inner, as, err := iterate("$map", "in", nil, arg, sc)
	if err != nil {
		return nil, err
	}
	return func(e *Env) (value.Value, error) {
		v, err := input(e)
		if err != nil || v.IsNullish() {
			return value.Null, err
		}
		if v.T != bson.TypeArray {
			return v, notArray("$map", v)
		}
		vs := v.Doc().Values()
		for i := range vs {
			if vs[i], err = inner(e.With(as, vs[i])); err != nil {
				return v, err
			}
			if vs[i].IsMissing() {
				vs[i] = value.Null
			}
		}
		return value.OfArray(vs), nil
	}, nil
}

func compileFilter(arg value.Value, sc *scope) (Expr, error) {
	input, inner, as, err := iterate("$filter", "cond", nil, arg, sc)
	if err != nil {
		return nil, err
	}
	return func(e *Env) (value.Value, error) {
		v, err := input(e)
		if err != nil || v.IsNullish() {
			return value.Null, err
		}
		if v.T != bson.TypeArray {
			return v, notArray("$filter", v)
		}
		var out []value.Value
		for _, x := range v.Doc().Values() {
			c, err := inner(e.With(as, x))
			if err != nil {
				return v, err
			}
			if c.Truthy() {
				out = append(out, x)
			}
		}
		return value.OfArray(out), nil
	}, nil
}

func compileReduce(arg value.Value, sc *scope) (Expr, error) {
	if _, err := namedArgs("$reduce", arg, &scope{"this", &scope{"value", sc}}, []string{"input", "initialValue", "in"}, nil); err != nil {
		return nil, err
	}
	input, err := compile(arg.Doc().Get("input"), sc)
	if err != nil {
		return nil, err
	}
	initial, err := compile(arg.Doc().Get("initialValue"), sc)
	if err != nil {
		return nil, err
	}
	inner, err := compile(arg.Doc().Get("in"), &scope{"this", &scope{"value", sc}})
	if err != nil {
		return nil, err
	}
	return func(e *Env) (value.Value, error) {
		v, err := input(e)
		if err != nil || v.IsNullish() {
			return value.Null, err
		}
		if v.T != bson.TypeArray {
			return v, notArray("$reduce", v)
		}
		acc, err := initial(e)
		if err != nil {
			return acc, err
		}
		for _, x := range v.Doc().Values() {
			if acc, err = inner(e.With("value", acc).With("this", x)); err != nil {
				return acc, err
			}
		}
		return acc, nil
	}, nil
}

func compileEnd(first bool) special {
	return func(arg value.Value, sc *scope) (Expr, error) {
		xs, err := compileList(arg, sc)
		if err != nil {
			return nil, err
		}
		if len(xs) != 1 {
			return nil, mongoerr.New(mongoerr.FailedToParse, "$first and $last take one array")
		}
		return func(e *Env) (value.Value, error) {
			v, err := xs[0](e)
			if err != nil || v.IsNullish() {
				return value.Null, err
			}
			if v.T != bson.TypeArray {
				return v, notArray("$first and $last", v)
			}
			vs := v.Doc().Values()
			switch {
			case len(vs) == 0:
				return value.Value{}, nil
			case first:
				return vs[0], nil
			}
			return vs[len(vs)-1], nil
		}, nil
	}
}
