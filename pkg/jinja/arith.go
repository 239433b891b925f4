package jinja

import (
	"math"
	"math/big"
	"math/bits"
	"math/cmplx"
	"strings"
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

// floatPair returns two numbers of which one is a float and none is a big int; ok is false for all else.
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

// smallArith is arithmetic on ints that fit; ok is false when the result may not, or is an error.
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

// addSequences joins two strings, lists or tuples; ok is false when a is none of them.
func (rt *state) addSequences(a, b Value) (Value, bool, error) {
	switch x := a.(type) {
	case strValue:
		switch y := b.(type) {
		case strValue:
			if err := rt.charge(len(x) + len(y)); err != nil {
				return nil, true, err
			}
			return x + y, true, nil
		case markupValue:
			s, err := rt.escapeText(string(x))
			if err == nil {
				err = rt.charge(len(s) + len(y))
			}
			return markupValue(s) + y, true, err
		case *undefinedValue:
			return nil, true, y.fail()
		}
		return nil, true, typeErr(`can only concatenate str (not "%s") to str`, b.typeName())
	case markupValue:
		if !hasHTML(b) {
			if _, ok := b.(strValue); !ok {
				if u, ok := b.(*undefinedValue); ok {
					return nil, true, u.fail()
				}
				return nil, true, unsupported(tokAdd, a, b)
			}
		}
		s, err := rt.escape(b)
		if err == nil {
			err = rt.charge(len(x) + len(s))
		}
		return x + markupValue(s), true, err
	case *listValue:
		y, ok := b.(*listValue)
		if !ok {
			if u, ok := b.(*undefinedValue); ok {
				return nil, true, u.fail()
			}
			return nil, true, typeErr(`can only concatenate list (not "%s") to list`, b.typeName())
		}
		items, err := rt.joinItems(x.items, y.items)
		return &listValue{items}, true, err
	case *tupleValue:
		y, ok := b.(*tupleValue)
		if !ok {
			if u, ok := b.(*undefinedValue); ok {
				return nil, true, u.fail()
			}
			return nil, true, typeErr(`can only concatenate tuple (not "%s") to tuple`, b.typeName())
		}
		items, err := rt.joinItems(x.items, y.items)
		return newTuple(items), true, err
	case bytesValue:
		if y, ok := b.(bytesValue); ok {
			return x + y, true, rt.charge(len(x) + len(y))
		}
	}
	return nil, false, nil
}

func (rt *state) joinItems(a, b []Value) ([]Value, error) {
	n := len(a) + len(b)
	if err := rt.work(n / 8); err != nil {
		return nil, err
	}
	if err := rt.chargeTimes(n, sizeValue); err != nil {
		return nil, err
	}
	out := make([]Value, 0, n)
	return append(append(out, a...), b...), nil
}

// repeat multiplies a sequence by a number; ok is false when neither is a sequence.
func (rt *state) repeat(a, b Value) (Value, bool, error) {
	seq, times := a, b
	if !isSequence(a) {
		if !isSequence(b) {
			return nil, false, nil
		}
		seq, times = b, a
	}
	if u, ok := times.(*undefinedValue); ok {
		return nil, true, u.fail()
	}
	n, ok := AsInt(times)
	if !ok {
		if t, isBig := times.(bigValue); isBig {
			if t.n.Sign() > 0 {
				if l, _ := sized(seq); l > 0 {
					return nil, true, budgetErr("the template exceeds its budget of %d bytes", rt.budget.Bytes)
				}
			}
			n = 0
		} else {
			return nil, true, typeErr("can't multiply sequence by non-int of type '%s'", times.typeName())
		}
	}
	n = max(n, 0)
	switch s := seq.(type) {
	case strValue:
		t, err := rt.repeatText(string(s), n)
		return strValue(t), true, err
	case markupValue:
		t, err := rt.repeatText(string(s), n)
		return markupValue(t), true, err
	case bytesValue:
		t, err := rt.repeatText(string(s), n)
		return bytesValue(t), true, err
	case *listValue:
		items, err := rt.repeatItems(s.items, n)
		return &listValue{items}, true, err
	case *tupleValue:
		items, err := rt.repeatItems(s.items, n)
		return newTuple(items), true, err
	}
	return nil, false, nil
}

func isSequence(v Value) bool {
	switch v.(type) {
	case strValue, markupValue, bytesValue, *listValue, *tupleValue:
		return true
	}
	return false
}

func (rt *state) repeatText(s string, n int64) (string, error) {
	if s == "" || n == 0 {
		return "", nil
	}
	if err := rt.chargeTimes(int(min(n, unlimited)), len(s)); err != nil {
		return "", err
	}
	return strings.Repeat(s, int(n)), nil
}

func (rt *state) repeatItems(items []Value, n int64) ([]Value, error) {
	if len(items) == 0 || n == 0 {
		return nil, nil
	}
	if err := rt.chargeTimes(int(min(n, unlimited)), sizeValue*len(items)); err != nil {
		return nil, err
	}
	out := make([]Value, 0, int(n)*len(items))
	for range n {
		out = append(out, items...)
	}
	return out, rt.work(len(out) / 8)
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

// toBig returns an int or bool as a big.Int, which must not be changed.
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

// fits refuses ints of more digits than the budget allows, before they are made.
func (rt *state) fits(bitLen int) error {
	// A digit is log2(10) bits: 3.3219.
	if int64(bitLen) > int64(rt.budget.Digits)*33220/10000 {
		return budgetErr("an integer exceeds the budget of %d digits", rt.budget.Digits)
	}
	return rt.charge(bitLen/8 + 16)
}

func (rt *state) bigArith(op tokenKind, x, y *big.Int) (Value, error) {
	xl, yl := x.BitLen(), y.BitLen()
	if err := rt.work(1 + (xl/64)*(yl/64)/64); err != nil {
		return nil, err
	}
	z := new(big.Int)
	switch op {
	case tokAdd, tokSub:
		if err := rt.fits(max(xl, yl) + 1); err != nil {
			return nil, err
		}
		if op == tokAdd {
			return normBig(z.Add(x, y)), nil
		}
		return normBig(z.Sub(x, y)), nil
	case tokMul:
		if err := rt.fits(xl + yl); err != nil {
			return nil, err
		}
		return normBig(z.Mul(x, y)), nil
	case tokDiv:
		if y.Sign() == 0 {
			return nil, zeroDivErr("division by zero")
		}
		return bigTrueDiv(x, y)
	case tokFloorDiv, tokMod:
		if y.Sign() == 0 {
			return nil, zeroDivErr("integer division or modulo by zero")
		}
		m := new(big.Int)
		z.QuoRem(x, y, m)
		// Go rounds towards zero, Python down.
		if m.Sign() != 0 && (m.Sign() < 0) != (y.Sign() < 0) {
			m.Add(m, y)
			z.Sub(z, big.NewInt(1))
		}
		if op == tokMod {
			return normBig(m), nil
		}
		return normBig(z), nil
	case tokPow:
		return rt.bigPow(x, y)
	}
	return nil, typeErr("unsupported operator")
}

func bigTrueDiv(x, y *big.Int) (Value, error) {
	f, _ := new(big.Rat).SetFrac(x, y).Float64()
	if math.IsInf(f, 0) {
		return nil, overflowErr("integer division result too large for a float")
	}
	return floatValue(f), nil
}

func (rt *state) bigPow(x, y *big.Int) (Value, error) {
	if y.Sign() < 0 {
		f, err := toFloat(normBig(x))
		if err != nil {
			return nil, err
		}
		g, err := toFloat(normBig(y))
		if err != nil {
			return nil, err
		}
		return rt.floatArith(tokPow, f, g)
	}
	if x.BitLen() <= 1 { // -1, 0, 1
		switch {
		case y.Sign() == 0:
			return intValue(1), nil
		case x.Sign() < 0 && y.Bit(0) == 0:
			return intValue(1), nil
		}
		return normBig(x), nil
	}
	if !y.IsInt64() || y.Int64() > int64(rt.budget.Digits)*4 {
		return nil, budgetErr("an integer exceeds the budget of %d digits", rt.budget.Digits)
	}
	if err := rt.fits((x.BitLen()-1)*int(y.Int64()) + 1); err != nil {
		return nil, err
	}
	z := new(big.Int).Exp(x, y, nil)
	if err := rt.work(z.BitLen() / 64 * z.BitLen() / 64 / 64); err != nil {
		return nil, err
	}
	return normBig(z), nil
}

// A power of floats counts as so many steps, and bytes of its intermediate results.
const (
	powWork  = 100
	powBytes = 12 << 10
)

func (rt *state) floatArith(op tokenKind, f, g float64) (Value, error) {
	switch op {
	case tokPow:
		if !easyPow(f, g) {
			if err := rt.work(powWork); err != nil {
				return nil, err
			}
			if err := rt.charge(powBytes); err != nil {
				return nil, err
			}
		}
		return floatPow(f, g)
	case tokAdd:
		return floatValue(f + g), nil
	case tokSub:
		return floatValue(f - g), nil
	case tokMul:
		return floatValue(f * g), nil
	case tokDiv:
		if g == 0 {
			return nil, zeroDivErr("float division by zero")
		}
		return floatValue(f / g), nil
	case tokFloorDiv, tokMod:
		if g == 0 {
			if op == tokMod {
				return nil, zeroDivErr("float modulo")
			}
			return nil, zeroDivErr("float floor division by zero")
		}
		q, m := floatDivMod(f, g)
		if op == tokMod {
			return floatValue(m), nil
		}
		return floatValue(q), nil
	}
	return nil, typeErr("unsupported operator")
}

// floatDivMod is Python's divmod: the remainder has the sign of the divisor.
func floatDivMod(f, g float64) (q, m float64) {
	m = math.Mod(f, g)
	d := (f - m) / g
	if m != 0 {
		if (g < 0) != (m < 0) {
			m += g
			d--
		}
	} else {
		m = math.Copysign(0, g)
	}
	if d != 0 {
		q = math.Floor(d)
		if d-q > 0.5 {
			q++
		}
	} else {
		q = math.Copysign(0, f/g)
	}
	return q, m
}

func floatPow(f, g float64) (Value, error) {
	switch {
	case f == 0 && g < 0:
		return nil, zeroDivErr("0.0 cannot be raised to a negative power")
	case f < 0 && !math.IsInf(f, 0) && !math.IsInf(g, 0) && g != math.Trunc(g):
		return complexValue(complexPow(complex(f, 0), complex(g, 0))), nil
	}
	r := pow(f, g)
	if math.IsInf(r, 0) && !math.IsInf(f, 0) && !math.IsInf(g, 0) {
		return nil, overflowErr("(34, 'Numerical result out of range')")
	}
	return floatValue(r), nil
}

func complexPow(a, b complex128) complex128 {
	if a == 0 {
		return 0
	}
	vabs := cmplx.Abs(a)
	length := pow(vabs, real(b))
	at := cmplx.Phase(a)
	phase := at * real(b)
	if imag(b) != 0 {
		length *= math.Exp(-at * imag(b))
		phase += imag(b) * math.Log(vabs)
	}
	return complex(length*math.Cos(phase), length*math.Sin(phase))
}

func complexArith(op tokenKind, a, b Value) (Value, error) {
	conv := func(v Value) (complex128, error) {
		if c, ok := v.(complexValue); ok {
			return complex128(c), nil
		}
		f, err := toFloat(v)
		return complex(f, 0), err
	}
	x, err := conv(a)
	if err != nil {
		return nil, err
	}
	y, err := conv(b)
	if err != nil {
		return nil, err
	}
	switch op {
	case tokAdd:
		return complexValue(x + y), nil
	case tokSub:
		return complexValue(x - y), nil
	case tokMul:
		return complexValue(x * y), nil
	case tokDiv:
		if y == 0 {
			return nil, zeroDivErr("complex division by zero")
		}
		return complexValue(x / y), nil
	case tokPow:
		return complexValue(complexPow(x, y)), nil
	}
	return nil, unsupported(op, a, b)
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

// bigText is the decimal text of a big int, which Python refuses beyond 4300 digits.
func (rt *state) bigText(v bigValue) (string, error) {
	if v.n.BitLen() > maxStrDigits*4 {
		return "", valueErr("Exceeds the limit (%d digits) for integer string conversion", maxStrDigits)
	}
	if words := v.n.BitLen() / 64; rt != nil {
		if err := rt.work(words * words / 32); err != nil {
			return "", err
		}
	}
	s := v.n.String()
	if len(strings.TrimPrefix(s, "-")) > maxStrDigits {
		return "", valueErr("Exceeds the limit (%d digits) for integer string conversion", maxStrDigits)
	}
	return s, nil
}
