package project

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/filter"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

func isArrayOperator(v value.Value) bool {
	if v.T != bson.TypeEmbeddedDocument {
		return false
	}
	k, arg := v.Doc().First()
	// $slice with an array expression is the aggregation operator.
	return k == "$elemMatch" || (k == "$slice" && (arg.IsNumber() || (arg.T == bson.TypeArray && arg.Doc().At(0).IsNumber())))
}

func arrayOperator(v value.Value) ([]int64, *filter.Filter, error) {
	k, arg := v.Doc().First()
	if k == "$elemMatch" {
		f, err := filter.Compile(value.NewBuilder().Add("e", v).Done())
		return nil, f, err
	}
	list := []value.Value{arg}
	if arg.T == bson.TypeArray {
		list = arg.Doc().Values()
	}
	var ns []int64
	for _, e := range list {
		n, ok := e.Int()
		if !ok {
			return nil, nil, mongoerr.New(mongoerr.BadValue, "$slice takes integers, not %s", value.Format(e))
		}
		ns = append(ns, n)
	}
	if len(ns) > 2 || len(ns) == 2 && ns[1] <= 0 {
		return nil, nil, mongoerr.New(mongoerr.Kind{Code: 28724, Name: "Location28724"}, "$slice takes a count, or a position and a positive limit")
	}
	return ns, nil, nil
}

// array applies what modifies the array at a leaf; other values pass.
func (t *tree) array(v value.Value, pos int) (value.Value, error) {
	if t.elem != nil {
		if v.T != bson.TypeArray {
			return value.Value{}, nil
		}
		for _, e := range v.Doc().Values() {
			if t.elem.Match(value.NewBuilder().Add("e", value.OfArray([]value.Value{e})).Done()) {
				return value.OfArray([]value.Value{e}), nil
			}
		}
		return value.Value{}, nil
	}
	if v.T != bson.TypeArray {
		return v, nil
	}
	switch {
	case t.positional:
		e := v.Doc().At(pos)
		if pos < 0 || e.IsMissing() {
			return v, mongoerr.New(mongoerr.Kind{Code: 51246, Name: "Location51246"}, "executor error: the positional projection found no matching array element")
		}
		return value.OfArray([]value.Value{e}), nil
	case len(t.slice) == 1:
		return value.OfArray(sliceOf(v.Doc().Values(), t.slice[0])), nil
	case len(t.slice) == 2:
		return value.OfArray(sliceFrom(v.Doc().Values(), t.slice[0], t.slice[1])), nil
	}
	return v, nil
}

// sliceOf keeps the first n elements, or the last -n.
func sliceOf(vs []value.Value, n int64) []value.Value {
	switch {
	case n >= 0 && n < int64(len(vs)):
		return vs[:n]
	case n < 0 && -n < int64(len(vs)):
		return vs[int64(len(vs))+n:]
	}
	return vs
}

// sliceFrom skips from elements (from the end when negative) and keeps count.
func sliceFrom(vs []value.Value, from, count int64) []value.Value {
	l := int64(len(vs))
	if from < 0 {
		from = max(from+l, 0)
	}
	from = min(from, l)
	return vs[from:min(l, from+count)]
}
