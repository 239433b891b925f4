package jinja

import (
	"math"
	"math/big"
	"math/bits"
)

var opNames = map[tokenKind]string{
	tokAdd: "+", tokSub: "-", tokMul: "*", tokDiv: "/", tokFloorDiv: "//", tokMod: "%", tokPow: "** or pow()",
}

func unsupported(op tokenKind, a, b Value) error {
	return typeErr("unsupported operand type(s) for %s: '%s' and '%s'", opNames[op], a.typeName(), b.typeName())
}

// binary applies an arithmetic operator.
func (rt *state) binary(op tokenKind, a, b Value) (Value, error) {
	if err := rt.step(); err != nil {
		return nil, err
	}
	if x, ok := a.(intValue); ok {
		if y, ok := b.(intValue); ok {
			if v, ok := smallArith(op, int64(x), int64(y)); ok {
				return v, nil
			}
		}
	}
	if f, g, ok := floatPair(a, b); ok {
		return rt.floatArith(op, f, g)
	}
	if u, ok := a.(*undefinedValue); ok {
		return nil, u.fail()
	}
	switch op {
	case tokMod:
		if s, ok := asText(a); ok {
			_, markup := a.(markupValue)
			return rt.percentFormat(s, b, markup)
		}
	case tokAdd:
		if v, ok, err := rt.addSequences(a, b); ok || err != nil {
			return v, err
		}
	case tokMul:
		if v, ok, err := rt.repeat(a, b); ok || err != nil {
			return v, err
		}
	}
	if u, ok := b.(*undefinedValue); ok {
		return nil, u.fail()
	}
	return rt.numeric(op, a, b)
}

// floatPair returns two numbers as floats if one is a float and none is a big int.
func floatPair(a, b Value) (f, g float64, ok bool) {
	switch x := a.(type) {
	case floatValue:
		switch y := b.(type) {
		case floatValue:
			return float64(x), float64(y), true
		case intValue:
			return float64(x), float64(y), true
		}
	case intValue:
		if y, ok := b.(floatValue); ok {
			return float64(x), float64(y), true
		}
	}
	return 0, 0, false
}

// smallArith computes with ints that fit int64. ok is false if the result may not fit, or is an error.
func smallArith(op tokenKind, x, y int64) (Value, bool) {
	switch op {
	case tokAdd:
		s := x + y
		if (s > x) == (y > 0) {
			return intValue(s), true
		}
	case tokSub:
		d := x - y
		if (d < x) == (y > 0) {
			return intValue(d), true
		}
	case tokMul:
		hi, lo := bits.Mul64(uint64(abs64(x)), uint64(abs64(y)))
		if hi == 0 && lo < 1<<63 && x != math.MinInt64 && y != math.MinInt64 {
			if (x < 0) != (y < 0) {
				return intValue(-int64(lo)), true
			}
			return intValue(int64(lo)), true
		}
	case tokFloorDiv:
		if y != 0 && y != -1 {
			return intValue(floorDiv(x, y)), true
		}
	case tokMod:
		if y != 0 && y != -1 {
			return intValue(x - y*floorDiv(x, y)), true
		}
	case tokDiv:
		if y != 0 && abs64(x) < 1<<53 && abs64(y) < 1<<53 && x != math.MinInt64 && y != math.MinInt64 {
			return floatValue(float64(x) / float64(y)), true
		}
	}
	return nil, false
}

func abs64(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

func floorDiv(x, y int64) int64 {
	q := x / y
	if x%y != 0 && (x < 0) != (y < 0) {
		q--
	}
	return q
}

// numeric applies an operator to numbers.
func (rt *state) numeric(op tokenKind, a, b Value) (Value, error) {
	x, xi := toBig(a)
	y, yi := toBig(b)
	if xi && yi {
		return rt.bigArith(op, x, y)
	}
	if isNumber(a) && isNumber(b) {
		_, ca := a.(complexValue)
		_, cb := b.(complexValue)
		if ca || cb {
			return complexArith(op, a, b)
		}
		f, err := toFloat(a)
		if err != nil {
			return nil, err
		}
		g, err := toFloat(b)
		if err != nil {
			return nil, err
		}
		return rt.floatArith(op, f, g)
	}
	return nil, unsupported(op, a, b)
}

func isNumber(v Value) bool {
	switch v.(type) {
	case intValue, bigValue, boolValue, floatValue, complexValue:
		return true
	}
	return false
}

// toBig returns an int or bool as a big.Int. The caller must not change it.
func toBig(v Value) (*big.Int, bool) {
	switch v := v.(type) {
	case intValue:
		return big.NewInt(int64(v)), true
	case boolValue:
		n, _ := AsInt(v)
		return big.NewInt(n), true
	case bigValue:
		return v.n, true
	}
	return nil, false
}

// toFloat converts a real number.
func toFloat(v Value) (float64, error) {
	switch v := v.(type) {
	case floatValue:
		return float64(v), nil
	case intValue:
		return float64(v), nil
	case boolValue:
		if v {
			return 1, nil
		}
		return 0, nil
	case bigValue:
		f, _ := new(big.Float).SetInt(v.n).Float64()
		if math.IsInf(f, 0) {
			return 0, overflowErr("int too large to convert to float")
		}
		return f, nil
	}
	return 0, typeErr("must be real number, not %s", v.typeName())
}

// unary applies - or +.
func (rt *state) unary(op tokenKind, v Value) (Value, error) {
	name := "-"
	if op == tokAdd {
		name = "+"
	}
	switch x := v.(type) {
	case intValue:
		if op == tokAdd {
			return v, nil
		}
		if x != math.MinInt64 {
			return -x, nil
		}
		return normBig(new(big.Int).Neg(big.NewInt(int64(x)))), nil
	case boolValue:
		n, _ := AsInt(x)
		if op == tokSub {
			n = -n
		}
		return intValue(n), nil
	case bigValue:
		if op == tokAdd {
			return v, nil
		}
		return normBig(new(big.Int).Neg(x.n)), rt.charge(x.n.BitLen() / 8)
	case floatValue:
		if op == tokAdd {
			return v, nil
		}
		return -x, nil
	case complexValue:
		if op == tokAdd {
			return v, nil
		}
		return -x, nil
	case *undefinedValue:
		return nil, x.fail()
	}
	return nil, typeErr("bad operand type for unary %s: '%s'", name, v.typeName())
}
