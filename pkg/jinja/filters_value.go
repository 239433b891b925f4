package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

func filterDefault(rt *state, a []Value) (Value, error) {
	def := a[1]
	if def == nil {
		def = emptyStr
	}
	if isUndefined(a[0]) {
		return def, nil
	}
	boolean, err := rt.flag(a[2], false)
	if err != nil || !boolean {
		return a[0], err
	}
	ok, err := truthy(rt, a[0])
	if err != nil || ok {
		return a[0], err
	}
	return def, nil
}

func filterAttr(rt *state, a []Value) (Value, error) {
	name, ok := asText(a[1])
	if !ok {
		return nil, typeErr("attribute name must be string, not '%s'", a[1].typeName())
	}
	v, status, err := rt.attribute(a[0], name)
	switch {
	case err != nil:
		return nil, err
	case status == attrFound:
		return v, nil
	case status == attrUnsafe:
		return rt.unsafeAttr(a[0], name), nil
	}
	return rt.undefinedAttr(a[0], a[1]), nil
}

func filterAbs(rt *state, a []Value) (Value, error) {
	switch v := a[0].(type) {
	case intValue, boolValue, bigValue:
		n, _ := toBig(v)
		return normBig(new(big.Int).Abs(n)), rt.charge(n.BitLen() / 8)
	case floatValue:
		return floatValue(math.Abs(float64(v))), nil
	case complexValue:
		return floatValue(math.Hypot(real(v), imag(v))), nil
	}
	return nil, typeErr("bad operand type for abs(): '%s'", a[0].typeName())
}

func filterInt(rt *state, a []Value) (Value, error) {
	def := a[1]
	if def == nil {
		def = intValue(0)
	}
	v, err := toInt(rt, a[0], a[2])
	if err == nil {
		return v, nil
	}
	if !isClass(err, classType, classValue) {
		return nil, err
	}
	f, err := rt.parseFloat(a[0])
	if err == nil {
		var n *big.Int
		if n, err = floatToBig(f); err == nil {
			return normBig(n), nil
		}
	}
	if isClass(err, classType, classValue, classOverflow) {
		return def, nil
	}
	return nil, err
}

// toInt is int(v), or int(v, base) for a str.
func toInt(rt *state, v, base Value) (Value, error) {
	if s, ok := asText(v); ok {
		b, err := intArg(base, 10)
		if err != nil {
			return nil, err
		}
		if err := rt.work(len(s) / 16); err != nil {
			return nil, err
		}
		n, err := parseInt(s, b)
		if err != nil {
			return nil, err
		}
		return normBig(n), nil
	}
	switch v := v.(type) {
	case intValue, bigValue:
		return v, nil
	case boolValue:
		n, _ := AsInt(v)
		return intValue(n), nil
	case floatValue:
		n, err := floatToBig(float64(v))
		if err != nil {
			return nil, err
		}
		return normBig(n), nil
	case *undefinedValue:
		return nil, v.fail()
	case bytesValue:
		n, err := parseInt(string(v), 10)
		if err != nil {
			return nil, err
		}
		return normBig(n), nil
	}
	return nil, typeErr("int() argument must be a string, a bytes-like object or a real number, not '%s'", v.typeName())
}

// asciiDigits turns decimal digits of any script into ASCII ones.
func asciiDigits(s string) string {
	if isASCII(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r >= 0x80 {
			if d, ok := digitOf(r); ok {
				return '0' + d
			}
		}
		return r
	}, s)
}

// parseInt is Python's int(s, base).
func parseInt(s string, base int) (*big.Int, error) {
	bad := func() error { return valueErr("invalid literal for int() with base %d: %s", base, reprStr(s)) }
	if base != 0 && (base < 2 || base > 36) {
		return nil, valueErr("int() base must be >= 2 and <= 36, or 0")
	}
	t := asciiDigits(strip(s, nil, true, true))
	negative := false
	if t != "" && (t[0] == '+' || t[0] == '-') {
		negative = t[0] == '-'
		t = t[1:]
	}
	prefixed := false
	if len(t) > 1 && t[0] == '0' {
		for i, b := range []int{2, 8, 16} {
			if t[1]|0x20 == "box"[i] && (base == 0 || base == b) {
				base, t, prefixed = b, t[2:], true
				break
			}
		}
	}
	if prefixed {
		t = strings.TrimPrefix(t, "_")
	}
	if base == 0 {
		base = 10
		if len(t) > 1 && t[0] == '0' && strings.Trim(t, "0_") != "" {
			return nil, bad()
		}
	}
	if t == "" || t[0] == '_' || t[len(t)-1] == '_' || strings.Contains(t, "__") {
		return nil, bad()
	}
	t = strings.ReplaceAll(t, "_", "")
	if base&(base-1) != 0 && len(t) > maxStrDigits {
		return nil, valueErr("Exceeds the limit (%d digits) for integer string conversion: value has %d digits", maxStrDigits, len(t))
	}
	if len(t) > 1<<16 {
		return nil, budgetErr("the number has too many digits")
	}
	if strings.ContainsAny(t, "+-") {
		return nil, bad()
	}
	n, ok := new(big.Int).SetString(t, base)
	if !ok {
		return nil, bad()
	}
	if negative {
		n.Neg(n)
	}
	return n, nil
}

func filterFloat(rt *state, a []Value) (Value, error) {
	f, err := rt.parseFloat(a[0])
	if err == nil {
		return floatValue(f), nil
	}
	if isClass(err, classType, classValue) {
		if a[1] == nil {
			return floatValue(0), nil
		}
		return a[1], nil
	}
	return nil, err
}

func filterRound(rt *state, a []Value) (Value, error) {
	method := "common"
	if a[2] != nil {
		var ok bool
		if method, ok = asText(a[2]); !ok {
			if _, err := hash(a[2]); err != nil {
				return nil, err
			}
		}
	}
	switch method {
	case "common":
		if a[1] == None {
			return rt.roundToInt(a[0])
		}
		n, err := intArg(a[1], 0)
		if err != nil {
			return nil, err
		}
		return rt.round(a[0], n)
	case "ceil", "floor":
	default:
		return nil, filterArgErr("method must be common, ceil or floor")
	}
	prec := a[1]
	if prec == nil {
		prec = intValue(0)
	}
	scale, err := rt.binary(tokPow, intValue(10), prec)
	if err != nil {
		return nil, err
	}
	scaled, err := rt.binary(tokMul, a[0], scale)
	if err != nil {
		return nil, err
	}
	var n Value
	switch x := scaled.(type) {
	case floatValue:
		f := math.Floor(float64(x))
		if method == "ceil" {
			f = math.Ceil(float64(x))
		}
		i, err := floatToBig(f)
		if err != nil {
			return nil, err
		}
		n = normBig(i)
	case intValue, bigValue:
		n = x
	default:
		return nil, typeErr("must be real number, not %s", scaled.typeName())
	}
	return rt.binary(tokDiv, n, scale)
}

// round is Python's round(v, n): to the nearest, halves to even, exactly.
func (rt *state) round(v Value, n int) (Value, error) {
	switch x := v.(type) {
	case intValue, boolValue, bigValue:
		i, _ := toBig(x)
		if n >= 0 {
			return normBig(i), nil
		}
		if -n > rt.budget.Digits || -n > i.BitLen()+2 {
			return intValue(0), nil
		}
		unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-n)), nil)
		q := roundHalfEven(new(big.Rat).SetFrac(i, unit))
		return normBig(q.Mul(q, unit)), nil
	case floatValue:
		if n < 0 {
			if err := rt.work(powWork / 2); err != nil {
				return nil, err
			}
		}
		return roundFloat(float64(x), n)
	}
	return nil, typeErr("type %s doesn't define __round__ method", v.typeName())
}

func (rt *state) roundToInt(v Value) (Value, error) {
	f, ok := v.(floatValue)
	if !ok {
		return rt.round(v, 0)
	}
	n, err := floatToBig(math.RoundToEven(float64(f)))
	if err != nil {
		return nil, err
	}
	return normBig(n), nil
}

func roundHalfEven(r *big.Rat) *big.Int {
	q, m := new(big.Int), new(big.Int)
	q.DivMod(r.Num(), r.Denom(), m)
	switch m.Lsh(m, 1).Cmp(r.Denom()) {
	case 1:
		q.Add(q, big.NewInt(1))
	case 0:
		if q.Bit(0) == 1 {
			q.Add(q, big.NewInt(1))
		}
	}
	return q
}

func roundFloat(f float64, n int) (Value, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) || f == 0 || n > 323 {
		return floatValue(f), nil
	}
	if n < -308 {
		return floatValue(math.Copysign(0, f)), nil
	}
	if n >= 0 {
		// The digits are exact, and halves go to even.
		var buf [64]byte
		g, _ := strconv.ParseFloat(string(strconv.AppendFloat(buf[:0], f, 'f', n, 64)), 64)
		return floatValue(g), nil
	}
	r := new(big.Rat)
	r.SetFloat64(f)
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(abs64(int64(n))), nil)
	scale := new(big.Rat).SetInt(unit)
	scale.Inv(scale)
	q := new(big.Rat).SetInt(roundHalfEven(r.Mul(r, scale)))
	g, _ := q.Quo(q, scale).Float64()
	if math.IsInf(g, 0) {
		return nil, overflowErr("rounded value too large to represent")
	}
	return floatValue(math.Copysign(g, f)), nil
}

func filterFileSize(rt *state, a []Value) (Value, error) {
	binary, err := rt.flag(a[1], false)
	if err != nil {
		return nil, err
	}
	f, err := rt.parseFloat(a[0])
	if err != nil {
		return nil, err
	}
	base, suffix := 1000.0, "B"
	units := []string{"k", "M", "G", "T", "P", "E", "Z", "Y"}
	if binary {
		base, suffix = 1024, "iB"
		units[0] = "K"
	}
	switch {
	case f == 1:
		return strValue("1 Byte"), nil
	case f < base:
		n, err := floatToBig(f)
		if err != nil {
			return nil, err
		}
		return strValue(n.String() + " Bytes"), nil
	}
	// Units are exact ints in the comparison.
	scale := big.NewInt(int64(base))
	unit := new(big.Int).Set(scale)
	var u string
	for _, u = range units {
		unit.Mul(unit, scale)
		if n, ok := compareNumbers(floatValue(f), normBig(unit)); ok && n < 0 {
			break
		}
	}
	size, _ := new(big.Float).SetInt(unit).Float64()
	s, err := rt.format(floatValue(base*f/size), ".1f")
	return strValue(s + " " + u + suffix), err
}

func filterLength(rt *state, a []Value) (Value, error) {
	n, err := rt.length(a[0])
	return intValue(n), err
}
