package expr

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

// compileFold compiles $sum, $min and $max as expressions: over their arguments, or over the one array given.
func compileFold(op string) special {
	return func(arg value.Value) (Expr, error) {
		xs, err := compileList(arg)
		if err != nil {
			return nil, err
		}
		return func(e *Env) (value.Value, error) {
			var vs []value.Value
			for _, x := range xs {
				v, err := x(e)
				if err != nil {
					return v, err
				}
				vs = append(vs, v)
			}
			if len(vs) == 1 && vs[0].T == bson.TypeArray {
				vs = vs[0].Doc().Values()
			}
			return Fold(op, vs)
		}, nil
	}
}

// Fold reduces values as the accumulators $sum, $avg, $min and $max do: other than numbers do not count for the first two,
// null and missing not for the last two.
func Fold(op string, vs []value.Value) (value.Value, error) {
	var a Accumulation
	for _, v := range vs {
		if err := a.Step(op, v); err != nil {
			return v, err
		}
	}
	return a.Result(op), nil
}

// Accumulation is the running state of a Fold.
type Accumulation struct {
	acc value.Value
	n   int64
}

// Step takes one more value.
func (a *Accumulation) Step(op string, v value.Value) error {
	switch op {
	case "$sum", "$avg":
		if !v.IsNumber() {
			return nil
		}
		if a.n++; a.acc.IsMissing() {
			a.acc = value.OfInt32(0)
		}
		var err error
		a.acc, err = widen(op, a.acc, v, value.Add)
		return err
	case "$min", "$max":
		if v.IsNullish() {
			return nil
		}
		c := -1
		if !a.acc.IsMissing() {
			if c = value.Compare(v, a.acc); op == "$max" {
				c = -c
			}
		}
		if c < 0 {
			a.acc = v.Clone()
		}
	}
	return nil
}

// Result is the value over all steps; no number sums to 0 and averages to null, nothing has the minimum null.
func (a *Accumulation) Result(op string) value.Value {
	switch {
	case op == "$sum" && a.acc.IsMissing():
		return value.OfInt32(0)
	case op == "$avg" && a.n > 0:
		return value.OfDouble(a.acc.Float() / float64(a.n))
	case a.acc.IsMissing():
		return value.Null
	}
	return a.acc
}
