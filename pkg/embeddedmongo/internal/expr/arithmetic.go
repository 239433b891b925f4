package expr

import (
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/mongoerr"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
)

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

func floor(_ *Env, a []value.Value) (value.Value, error) {
	null, err := numbers("$floor", a)
	if err != nil || null {
		return value.Null, err
	}
	if a[0].T == bson.TypeDouble {
		return value.OfDouble(math.Floor(a[0].Float())), nil
	}
	return a[0], nil
}
