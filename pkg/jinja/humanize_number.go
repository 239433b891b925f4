package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

func humanizeSize(rt *state, a []Value) (Value, error) {
	binary, err := rt.flag(a[1], false)
	if err != nil {
		return nil, err
	}
	gnu, err := rt.flag(a[2], false)
	if err != nil {
		return nil, err
	}
	var form Value = strValue("%.1f")
	if a[3] != nil {
		form = a[3]
	}
	f, err := rt.parseFloat(a[0])
	if err != nil {
		return nil, err
	}
	base, space := 1000.0, " "
	units := strings.Fields("kB MB GB TB PB EB ZB YB RB QB")
	switch {
	case gnu:
		base, space, units = 1024, "", strings.Split("KMGTPEZYRQ", "")
	case binary:
		base, units = 1024, strings.Fields("KiB MiB GiB TiB PiB EiB ZiB YiB RiB QiB")
	}
	size := math.Abs(f)
	if size < base {
		n, err := floatToBig(f)
		if err != nil {
			return nil, err
		}
		switch {
		case gnu:
			return strValue(n.String() + "B"), nil
		case size == 1:
			return strValue(n.String() + " Byte"), nil
		}
		return strValue(n.String() + " Bytes"), nil
	}
	if math.IsNaN(f) {
		return nil, valueErr("cannot convert float NaN to integer")
	}
	exp := int(min(math.Log(size)/math.Log(base), float64(len(units))))
	rounded, err := rt.formatted(form, floatValue(size/math.Pow(base, float64(exp))))
	if err != nil {
		return nil, err
	}
	if exp < len(units) {
		r, err := rt.parseFloat(rounded)
		if err != nil {
			return nil, err
		}
		if math.Abs(r) >= base {
			exp++
		}
	}
	out, err := rt.formatted(form, floatValue(f/math.Pow(base, float64(exp))))
	if err != nil {
		return nil, err
	}
	s, ok := asText(out)
	if !ok {
		return nil, typeErr("can only concatenate str (not \"%s\") to str", out.typeName())
	}
	return strValue(s + space + units[max(exp, 1)-1]), nil
}

// formatted is form % v, with any value as the form.
func (rt *state) formatted(form, v Value) (Value, error) { return rt.binary(tokMod, form, v) }

func humanizeComma(rt *state, a []Value) (Value, error) {
	v := a[0]
	printed := func() (Value, error) {
		s, err := rt.str(v)
		return strValue(s), err
	}
	switch x := v.(type) {
	case strValue, markupValue:
		s, _ := asText(x)
		s = strings.ReplaceAll(s, ",", "")
		v = strValue(s)
		f, err := rt.parseFloat(v)
		if err != nil {
			return printed()
		}
		if t, bad := notFinite(f); bad {
			return t, nil
		}
		if strings.Contains(s, ".") {
			v = floatValue(f)
		} else {
			n, err := toInt(rt, v, nil)
			if err != nil {
				return printed()
			}
			v = n
		}
	case intValue, boolValue, bigValue:
	default:
		f, err := rt.parseFloat(v)
		if err != nil {
			if isClass(err, classType, classValue) {
				return printed()
			}
			return nil, err
		}
		if t, bad := notFinite(f); bad {
			return t, nil
		}
	}
	spec := ","
	if given(a[1]) {
		n, err := rt.str(a[1])
		if err != nil {
			return nil, err
		}
		spec = ",." + n + "f"
	}
	s, err := rt.format(v, spec)
	return strValue(s), err
}

var numberWords = []string{
	"thousand", "million", "billion", "trillion", "quadrillion", "quintillion", "sextillion",
	"septillion", "octillion", "nonillion", "decillion", "googol",
}

// wordPower is the power of ten that a number word means.
func wordPower(i int) *big.Int {
	e := int64(3 * (i + 1))
	if i == len(numberWords)-1 {
		e = 100
	}
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(e), nil)
}

func humanizeWord(rt *state, a []Value) (Value, error) {
	n, text, err := rt.wholeNumber(a[0])
	if err != nil || text != nil {
		return text, err
	}
	var form Value = strValue("%.1f")
	if a[1] != nil {
		form = a[1]
	}
	sign := ""
	if n.Sign() < 0 {
		sign = "-"
		n = new(big.Int).Neg(n)
	}
	i := -1
	for i+1 < len(numberWords) && n.Cmp(wordPower(i+1)) >= 0 {
		i++
	}
	if i < 0 {
		return strValue(sign + n.String()), nil
	}
	power := wordPower(i)
	chopped, err := bigTrueDiv(n, power)
	if err != nil {
		return nil, err
	}
	out, err := rt.formatted(form, chopped)
	if err != nil {
		return nil, err
	}
	rounded, err := rt.parseFloat(out)
	if err != nil {
		return nil, err
	}
	if i+1 < len(numberWords) {
		step, _ := new(big.Float).SetInt(new(big.Int).Quo(wordPower(i+1), power)).Float64()
		if rounded == step {
			i++
			rounded = 1
		}
	}
	if math.IsInf(rounded, 0) || math.IsNaN(rounded) {
		_, err := floatToBig(rounded)
		return nil, err
	}
	if out, err = rt.formatted(form, floatValue(rounded)); err != nil {
		return nil, err
	}
	s, ok := asText(out)
	if !ok {
		return nil, attributeErr("'%s' object has no attribute 'replace'", out.typeName())
	}
	return strValue(sign + s + " " + numberWords[i]), nil
}

func humanizeFraction(rt *state, a []Value) (Value, error) {
	f, err := rt.parseFloat(a[0])
	if err != nil {
		if isClass(err, classType, classValue) {
			s, err := rt.str(a[0])
			return strValue(s), err
		}
		return nil, err
	}
	if t, bad := notFinite(f); bad {
		return t, nil
	}
	if err := rt.work(2 * powWork); err != nil {
		return nil, err
	}
	whole := math.Trunc(f)
	frac := limitDenominator(new(big.Rat).Sub(floatRat(f), floatRat(whole)), 1000)
	num, den := frac.Num(), frac.Denom()
	text := func(f float64) string { return strconv.FormatFloat(f, 'f', 0, 64) }
	if den.IsInt64() && den.Int64() == 1 {
		sum, _ := new(big.Float).SetInt(new(big.Int).Add(bigFloor(whole), num)).Float64()
		return strValue(text(sum)), nil
	}
	if whole == 0 {
		return strValue(num.String() + "/" + den.String()), nil
	}
	return strValue(text(whole) + " " + new(big.Int).Abs(num).String() + "/" + den.String()), nil
}

func floatRat(f float64) *big.Rat { r := new(big.Rat); r.SetFloat64(f); return r }

func bigFloor(f float64) *big.Int { n, _ := big.NewFloat(f).Int(nil); return n }

// limitDenominator returns the nearest fraction with a denominator up to limit.
func limitDenominator(r *big.Rat, limit int64) *big.Rat {
	if r.Denom().Cmp(big.NewInt(limit)) <= 0 {
		return r
	}
	most := big.NewInt(limit)
	p0, q0, p1, q1 := big.NewInt(0), big.NewInt(1), big.NewInt(1), big.NewInt(0)
	n, d := new(big.Int).Set(r.Num()), new(big.Int).Set(r.Denom())
	for {
		a, m := new(big.Int).DivMod(n, d, new(big.Int))
		q2 := new(big.Int).Add(q0, new(big.Int).Mul(a, q1))
		if q2.Cmp(most) > 0 {
			break
		}
		p2 := new(big.Int).Add(p0, new(big.Int).Mul(a, p1))
		p0, q0, p1, q1 = p1, q1, p2, q2
		n, d = d, m
	}
	k := new(big.Int).Quo(new(big.Int).Sub(most, q0), q1)
	b1 := new(big.Rat).SetFrac(new(big.Int).Add(p0, new(big.Int).Mul(k, p1)), new(big.Int).Add(q0, new(big.Int).Mul(k, q1)))
	b2 := new(big.Rat).SetFrac(p1, q1)
	d1 := new(big.Rat).Abs(new(big.Rat).Sub(b1, r))
	d2 := new(big.Rat).Abs(new(big.Rat).Sub(b2, r))
	if d2.Cmp(d1) <= 0 {
		return b2
	}
	return b1
}

func humanizeScientific(rt *state, a []Value) (Value, error) {
	f, err := rt.parseFloat(a[0])
	if err != nil {
		if isClass(err, classType, classValue) {
			s, err := rt.str(a[0])
			return strValue(s), err
		}
		return nil, err
	}
	if t, bad := notFinite(f); bad {
		return t, nil
	}
	var prec Value = intValue(2)
	if a[1] != nil {
		if prec, err = toInt(rt, a[1], nil); err != nil {
			return nil, err
		}
	}
	s, err := rt.scientific(f, prec)
	return strValue(s), err
}

var superscripts = strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹", "-", "⁻")

func (rt *state) scientific(f float64, prec Value) (string, error) {
	p, err := rt.str(prec)
	if err != nil {
		return "", err
	}
	s, err := rt.format(floatValue(f), "."+p+"e")
	if err != nil {
		return "", err
	}
	mant, exp, _ := strings.Cut(s, "e")
	n, _ := strconv.Atoi(exp)
	return mant + " x 10" + superscripts.Replace(strconv.Itoa(n)), nil
}

func humanizeClamp(rt *state, a []Value) (Value, error) {
	v := a[0]
	if v == None {
		return None, nil
	}
	f, err := rt.float(v)
	if err != nil {
		return nil, err
	}
	if t, bad := notFinite(f); bad {
		return t, nil
	}
	token := emptyStr
	pick := func(bound, tok Value, def string, op cmpOp) (bool, error) {
		if !given(bound) {
			return false, nil
		}
		ok, err := rt.order(op, v, bound)
		if err != nil || !ok {
			return false, err
		}
		v = bound
		token = strValue(def)
		if tok != nil {
			token = tok
		}
		return true, nil
	}
	ok, err := pick(a[1], a[4], "<", opLt)
	if err == nil && !ok {
		_, err = pick(a[2], a[5], ">", opGt)
	}
	if err != nil {
		return nil, err
	}
	var text Value
	switch {
	case a[3] == nil:
		text, err = formatString(rt, strValue("{:}"), []Value{v}, newDict(0))
	case callable(a[3]):
		text, err = rt.call(a[3], callArgs{pos: []Value{v}})
	default:
		if _, ok := asText(a[3]); !ok {
			return nil, valueErr("Invalid format. Must be either a valid formatting string, or a function that accepts value and returns a string.")
		}
		text, err = formatString(rt, a[3], []Value{v}, newDict(0))
	}
	if err != nil {
		return nil, err
	}
	return rt.binary(tokAdd, token, text)
}

func humanizeMetric(rt *state, a []Value) (Value, error) {
	f, err := rt.float(a[0])
	if err != nil {
		return nil, err
	}
	if t, bad := notFinite(f); bad {
		return t, nil
	}
	unit := emptyStr
	if a[1] != nil {
		unit = a[1]
	}
	prec := 3.0
	if a[2] != nil {
		if prec, err = rt.float(a[2]); err != nil {
			return nil, err
		}
	}
	exp := decimalExponent(f)
	if exp >= 33 || exp < -30 {
		s, err := rt.scientific(f, intValue(int(prec)-1))
		if err != nil {
			return nil, err
		}
		return rt.binary(tokAdd, strValue(s), unit)
	}
	bucket := floorDiv(int64(exp), 3) * 3
	scaled, err := rt.scaleDown(a[0], bucket)
	if err != nil {
		return nil, err
	}
	mod := func() int { return ((exp % 3) + 3) % 3 }
	digits := int(max(0, prec-float64(mod())-1))
	r, err := roundFloat(math.Abs(scaled), digits)
	if err != nil {
		return nil, err
	}
	if exp < 30 && float64(r.(floatValue)) >= math.Pow(10, float64(mod()+1)) {
		exp++
		next := floorDiv(int64(exp), 3) * 3
		scaled /= math.Pow(10, float64(next-bucket))
		digits = int(max(0, prec-float64(mod())-1))
	}
	letter := ""
	switch {
	case exp >= 3:
		letter = string("kMGTPEZYRQ"[exp/3-1])
	case exp < 0:
		letter = string([]rune("mμnpfazyrq")[(-exp-1)/3])
	}
	s, err := rt.format(floatValue(scaled), "."+strconv.Itoa(digits)+"f")
	if err != nil {
		return nil, err
	}
	u, err := rt.str(unit)
	if err != nil {
		return nil, err
	}
	space := " "
	if u == "" && letter == "" || u == "°" || u == "′" || u == "″" {
		space = ""
	}
	return strValue(s + space + letter + u), nil
}

// scaleDown is v / 10**exp.
func (rt *state) scaleDown(v Value, exp int64) (float64, error) {
	p, err := rt.binary(tokPow, intValue(10), intValue(exp))
	if err != nil {
		return 0, err
	}
	q, err := rt.binary(tokDiv, v, p)
	if err != nil {
		return 0, err
	}
	return toFloat(q)
}

// decimalExponent is floor(log10(|f|)), with a logarithm that is rounded as C's is.
func decimalExponent(f float64) int {
	if f = math.Abs(f); f == 0 {
		return 0
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	i := strings.IndexByte(s, 'e')
	exp, _ := strconv.Atoi(s[i+1:])
	if mant, _ := strconv.ParseFloat(s[:i], 64); mant > 9.9 {
		return int(math.Floor(float64(exp+1) + math.Log1p((mant-10)/10)/math.Ln10))
	}
	return exp
}
