package expr

import (
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

var arithmetic = map[string]function{
	"$add":      {0, -1, add},
	"$subtract": {2, 2, subtract},
	"$multiply": {0, -1, multiply},
	"$divide":   {2, 2, divide},
	"$mod":      {2, 2, mod},
	"$abs":      {1, 1, unary("$abs", math.Abs)},
	"$ceil":     {1, 1, unary("$ceil", math.Ceil)},
	"$floor":    {1, 1, unary("$floor", math.Floor)},
	"$sqrt":     {1, 1, realOp("$sqrt", math.Sqrt)},
	"$exp":      {1, 1, realOp("$exp", math.Exp)},
	"$ln":       {1, 1, realOp("$ln", math.Log)},
	"$log10":    {1, 1, realOp("$log10", math.Log10)},
	"$pow":      {2, 2, pow},
	"$round":    {1, 2, rounding("$round", math.RoundToEven)},
	"$trunc":    {1, 2, rounding("$trunc", math.Trunc)},
}

func notNumeric(op string, v value.Value) error {
	return mongoerr.New(mongoerr.TypeMismatch, "%s only supports numeric types, not %s", op, value.TypeName(v.T))
}

func noDecimal(op string) error { return mongoerr.NotImplemented("%s on a decimal128", op) }

// widen evaluates an operation in doubles after an integer overflow, as MongoDB does in expressions. Updates fail instead.
func widen(op string, a, b value.Value, f func(a, b value.Value) (value.Value, bool)) (value.Value, error) {
	if r, ok := f(a, b); ok {
		return r, nil
	}
	if a.T == bson.TypeDecimal128 || b.T == bson.TypeDecimal128 {
		return value.Value{}, noDecimal(op)
	}
	r, _ := f(value.OfDouble(a.Float()), value.OfDouble(b.Float()))
	return r, nil
}

func add(_ *Env, a []value.Value) (value.Value, error) {
	sum, date := value.OfInt32(0), false
	for _, v := range a {
		switch {
		case v.IsNullish():
			return value.Null, nil
		case v.T == bson.TypeDateTime:
			if date {
				return v, mongoerr.New(mongoerr.Kind{Code: 16612, Name: "Location16612"}, "only one date allowed in an $add expression")
			}
			date = true
			v = value.OfInt64(v.Int64())
		case !v.IsNumber():
			return v, notNumeric("$add", v)
		}
		var err error
		if sum, err = widen("$add", sum, v, value.Add); err != nil {
			return sum, err
		}
	}
	if !date {
		return sum, nil
	}
	if ms, ok := sum.Int(); ok {
		return value.OfDate(ms), nil
	}
	return value.OfDate(int64(math.RoundToEven(sum.Float()))), nil
}

func subtract(_ *Env, a []value.Value) (value.Value, error) {
	x, y := a[0], a[1]
	switch {
	case x.IsNullish() || y.IsNullish():
		return value.Null, nil
	case x.T == bson.TypeDateTime && y.T == bson.TypeDateTime:
		return value.OfInt64(x.Int64() - y.Int64()), nil
	case x.T == bson.TypeDateTime && y.IsNumber():
		if i, ok := y.Int(); ok {
			return value.OfDate(x.Int64() - i), nil
		}
		return value.OfDate(x.Int64() - int64(math.RoundToEven(y.Float()))), nil
	case !x.IsNumber():
		return x, notNumeric("$subtract", x)
	case !y.IsNumber():
		return y, notNumeric("$subtract", y)
	}
	return widen("$subtract", x, y, value.Sub)
}

func multiply(_ *Env, a []value.Value) (value.Value, error) {
	p := value.OfInt32(1)
	for _, v := range a {
		if v.IsNullish() {
			return value.Null, nil
		}
		if !v.IsNumber() {
			return v, notNumeric("$multiply", v)
		}
		var err error
		if p, err = widen("$multiply", p, v, value.Mul); err != nil {
			return p, err
		}
	}
	return p, nil
}

// numbers checks two numeric operands; null is true when one is null or missing.
func numbers(op string, a []value.Value) (null bool, err error) {
	for _, v := range a {
		switch {
		case v.IsNullish():
			null = true
		case v.T == bson.TypeDecimal128:
			return false, noDecimal(op)
		case !v.IsNumber():
			return false, notNumeric(op, v)
		}
	}
	return null, nil
}

func divide(_ *Env, a []value.Value) (value.Value, error) {
	null, err := numbers("$divide", a)
	if err != nil || null {
		return value.Null, err
	}
	if a[1].Float() == 0 {
		return value.Null, mongoerr.New(mongoerr.BadValue, "can't $divide by zero")
	}
	return value.OfDouble(a[0].Float() / a[1].Float()), nil
}

func mod(_ *Env, a []value.Value) (value.Value, error) {
	null, err := numbers("$mod", a)
	if err != nil || null {
		return value.Null, err
	}
	if a[1].Float() == 0 {
		return value.Null, mongoerr.New(mongoerr.Kind{Code: 16610, Name: "Location16610"}, "can't $mod by zero")
	}
	if a[0].T == bson.TypeDouble || a[1].T == bson.TypeDouble {
		return value.OfDouble(math.Mod(a[0].Float(), a[1].Float())), nil
	}
	x, _ := a[0].Int()
	y, _ := a[1].Int()
	if y == -1 {
		return sameInt(a, 0), nil
	}
	return sameInt(a, x%y), nil
}

// sameInt makes an integer of the wider of the arguments' types.
func sameInt(a []value.Value, i int64) value.Value {
	for _, v := range a {
		if v.T == bson.TypeInt64 {
			return value.OfInt64(i)
		}
	}
	return value.OfInt(i)
}

func unary(op string, f func(float64) float64) func(*Env, []value.Value) (value.Value, error) {
	return func(_ *Env, a []value.Value) (value.Value, error) {
		null, err := numbers(op, a)
		if err != nil || null {
			return value.Null, err
		}
		if a[0].T == bson.TypeDouble {
			return value.OfDouble(f(a[0].Float())), nil
		}
		i, _ := a[0].Int()
		if op == "$abs" && i < 0 {
			if i == math.MinInt64 {
				return value.Null, mongoerr.New(mongoerr.Kind{Code: 28680, Name: "Location28680"}, "can't take $abs of long long min")
			}
			i = -i
		}
		return sameInt(a, i), nil
	}
}

func realOp(op string, f func(float64) float64) func(*Env, []value.Value) (value.Value, error) {
	return func(_ *Env, a []value.Value) (value.Value, error) {
		null, err := numbers(op, a)
		if err != nil || null {
			return value.Null, err
		}
		r := f(a[0].Float())
		if math.IsNaN(r) && !math.IsNaN(a[0].Float()) {
			return value.Null, mongoerr.New(mongoerr.BadValue, "%s is not defined for %v", op, a[0].Float())
		}
		return value.OfDouble(r), nil
	}
}

func pow(_ *Env, a []value.Value) (value.Value, error) {
	null, err := numbers("$pow", a)
	if err != nil || null {
		return value.Null, err
	}
	r := math.Pow(a[0].Float(), a[1].Float())
	if a[0].T != bson.TypeDouble && a[1].T != bson.TypeDouble && a[1].Float() >= 0 && math.Abs(r) < 1<<53 {
		return sameInt(a, int64(r)), nil
	}
	return value.OfDouble(r), nil
}

func rounding(op string, f func(float64) float64) func(*Env, []value.Value) (value.Value, error) {
	return func(_ *Env, a []value.Value) (value.Value, error) {
		null, err := numbers(op, a)
		if err != nil || null {
			return value.Null, err
		}
		digits := int64(0)
		if len(a) == 2 {
			p, ok := a[1].Int()
			if !ok || p < -20 || p > 100 {
				return value.Null, mongoerr.New(mongoerr.Kind{Code: 51083, Name: "Location51083"}, "cannot apply %s with a precision of %s", op, value.Format(a[1]))
			}
			digits = p
		}
		if a[0].T != bson.TypeDouble && digits >= 0 {
			return a[0], nil
		}
		scale := math.Pow(10, float64(digits))
		r := f(a[0].Float()*scale) / scale
		if a[0].T != bson.TypeDouble {
			return sameInt(a[:1], int64(r)), nil
		}
		return value.OfDouble(r), nil
	}
}
