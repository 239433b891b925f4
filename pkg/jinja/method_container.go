package jinja

import (
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
)

var dictMethods = map[string]*method{
	"items":  dictViewMethod("items", viewItems),
	"keys":   dictViewMethod("keys", viewKeys),
	"values": dictViewMethod("values", viewValues),
	"get": newMethod("get", "key default= /", func(rt *state, recv Value, a []Value) (Value, error) {
		v, ok, err := rt.lookup(recv.(*dictValue), a[0])
		switch {
		case err != nil:
			return nil, err
		case ok:
			return v, nil
		case a[1] != nil:
			return a[1], nil
		}
		return None, nil
	}),
	"copy": newMethod("copy", "", func(rt *state, recv Value, _ []Value) (Value, error) {
		d := recv.(*dictValue)
		if err := rt.chargeTimes(len(d.keys), sizeEntry); err != nil {
			return nil, err
		}
		return d.copy(), rt.work(len(d.keys))
	}),
	"fromkeys": newMethod("fromkeys", "iterable value= /", func(rt *state, _ Value, a []Value) (Value, error) {
		return dictFromKeys(rt, a)
	}),
}

func dictViewMethod(name string, kind viewKind) *method {
	return newMethod(name, "", func(_ *state, recv Value, _ []Value) (Value, error) {
		return &dictView{recv.(*dictValue), kind}, nil
	})
}

func dictFromKeys(rt *state, a []Value) (Value, error) {
	keys, err := rt.toSlice(a[0])
	if err != nil {
		return nil, err
	}
	if err := rt.chargeTimes(len(keys), sizeEntry); err != nil {
		return nil, err
	}
	val := a[1]
	if val == nil {
		val = None
	}
	d := newDict(len(keys))
	for _, k := range keys {
		if err := rt.payKey(k); err != nil {
			return nil, err
		}
		if err := d.set(k, val); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func dictClassAttr(f *funcValue, name string) Value {
	if name == "fromkeys" {
		return newMethod(name, "iterable value= /", func(rt *state, _ Value, a []Value) (Value, error) {
			return dictFromKeys(rt, a)
		}).bind(f, name)
	}
	return nil
}

func viewAttr(v *dictView, name string) Value {
	if name == "mapping" {
		return v.d
	}
	return newMethod("isdisjoint", "other /", func(rt *state, _ Value, a []Value) (Value, error) {
		items, err := rt.toSlice(a[0])
		if err != nil {
			return nil, err
		}
		for _, it := range items {
			if ok, err := rt.contains(v, it); ok || err != nil {
				return valFalse, err
			}
		}
		return valTrue, nil
	}).bind(v, name)
}

// listMethods are the methods of lists. Tuples have the same, except copy.
var listMethods = map[string]*method{
	"index": newMethod("index", "value start= stop= /", listIndex),
	"count": newMethod("count", "value /", func(rt *state, recv Value, a []Value) (Value, error) {
		items, _ := Elements(recv)
		n := 0
		for _, it := range items {
			if err := rt.step(); err != nil {
				return nil, err
			}
			ok, err := rt.same(it, a[0])
			if err != nil {
				return nil, err
			}
			if ok {
				n++
			}
		}
		return intValue(n), nil
	}),
	"copy": newMethod("copy", "", func(rt *state, recv Value, _ []Value) (Value, error) {
		items, err := rt.copySlice(recv)
		return &listValue{items}, err
	}),
}

func listIndex(rt *state, recv Value, a []Value) (Value, error) {
	items, _ := Elements(recv)
	bound := func(v Value, def int) (int, error) {
		if v == nil {
			return def, nil
		}
		i, ok, err := sliceIndex(v)
		if err != nil || !ok {
			return 0, typeErr("slice indices must be integers or have an __index__ method")
		}
		if i < 0 {
			i = max(i+len(items), 0)
		}
		return i, nil
	}
	from, err := bound(a[1], 0)
	if err != nil {
		return nil, err
	}
	to, err := bound(a[2], len(items))
	if err != nil {
		return nil, err
	}
	for i := from; i < min(to, len(items)); i++ {
		if err := rt.step(); err != nil {
			return nil, err
		}
		if ok, err := rt.same(items[i], a[0]); err != nil {
			return nil, err
		} else if ok {
			return intValue(i), nil
		}
	}
	if _, tuple := recv.(*tupleValue); tuple {
		return nil, valueErr("tuple.index(x): x not in tuple")
	}
	r, err := rt.repr(a[0])
	if err != nil {
		return nil, err
	}
	return nil, valueErr("%s is not in list", r)
}

func rangeAttr(r rangeValue, name string) Value {
	switch name {
	case "start":
		return intValue(r.start)
	case "stop":
		return intValue(r.stop)
	case "step":
		return intValue(r.step)
	case "count", "index":
		return newMethod(name, "value /", func(rt *state, _ Value, a []Value) (Value, error) {
			ok, err := rt.contains(r, a[0])
			if err != nil {
				return nil, err
			}
			if name == "count" {
				n, _ := AsInt(Bool(ok))
				return intValue(n), nil
			}
			if !ok {
				return nil, valueErr("%s is not in range", reprShort(a[0]))
			}
			n, _ := rt.float(a[0])
			return intValue((int64(n) - r.start) / r.step), nil
		}).bind(r, name)
	}
	return nil
}

func bytesMethod(b bytesValue, name string) Value {
	if name == "hex" {
		return newMethod(name, "", func(*state, Value, []Value) (Value, error) {
			const digits = "0123456789abcdef"
			out := make([]byte, 0, 2*len(b))
			for i := range len(b) {
				out = append(out, digits[b[i]>>4], digits[b[i]&15])
			}
			return strValue(out), nil
		}).bind(b, name)
	}
	return newMethod(name, "encoding= errors=", func(*state, Value, []Value) (Value, error) {
		return strValue(strings.ToValidUTF8(string(b), "\uFFFD")), nil
	}).bind(b, name)
}

// numberAttr returns an attribute or method of a number, or nil if it has none of that name.
func numberAttr(v Value, name string) Value {
	f, isFloat := v.(floatValue)
	_, isComplex := v.(complexValue)
	plus := v
	if b, ok := v.(boolValue); ok {
		n, _ := AsInt(b)
		plus = intValue(n)
	}
	switch name {
	case "real":
		if c, ok := v.(complexValue); ok {
			return floatValue(real(c))
		}
		return plus
	case "imag":
		if c, ok := v.(complexValue); ok {
			return floatValue(imag(c))
		}
		if isFloat {
			return floatValue(0)
		}
		return intValue(0)
	case "conjugate":
		if c, ok := v.(complexValue); ok {
			plus = complexValue(complex(real(c), -imag(c)))
		}
		return noArgs(v, name, func() (Value, error) { return plus, nil })
	}
	switch {
	case isComplex:
		return nil
	case isFloat:
		return floatAttr(f, name)
	}
	n, _ := toBig(v)
	return intAttr(v, n, plus, name)
}

func noArgs(v Value, name string, f func() (Value, error)) Value {
	return newMethod(name, "", func(*state, Value, []Value) (Value, error) { return f() }).bind(v, name)
}

func intAttr(v Value, n *big.Int, plus Value, name string) Value {
	switch name {
	case "numerator":
		return plus
	case "denominator":
		return intValue(1)
	case "bit_length":
		return noArgs(v, name, func() (Value, error) { return intValue(n.BitLen()), nil })
	case "bit_count":
		return noArgs(v, name, func() (Value, error) {
			c := 0
			for _, w := range n.Bits() {
				c += bits.OnesCount(uint(w))
			}
			return intValue(c), nil
		})
	case "as_integer_ratio":
		return noArgs(v, name, func() (Value, error) { return newTuple([]Value{plus, intValue(1)}), nil })
	case "to_bytes":
		return newMethod(name, "length= byteorder= signed=", func(rt *state, _ Value, a []Value) (Value, error) {
			return intToBytes(rt, n, a)
		}).bind(v, name)
	case "from_bytes":
		return newMethod(name, "bytes byteorder= signed=", func(_ *state, _ Value, a []Value) (Value, error) {
			return intFromBytes(a)
		}).bind(v, name)
	}
	return nil
}

func byteOrder(v Value) (little bool, err error) {
	if v == nil {
		return false, nil
	}
	s, ok := asText(v)
	switch {
	case !ok:
		return false, typeErr("argument 'byteorder' must be str, not %s", v.typeName())
	case s == "little":
		return true, nil
	case s == "big":
		return false, nil
	}
	return false, valueErr("byteorder must be either 'little' or 'big'")
}

func intToBytes(rt *state, n *big.Int, a []Value) (Value, error) {
	size, err := intArg(a[0], 1)
	if err != nil {
		return nil, err
	}
	little, err := byteOrder(a[1])
	if err != nil {
		return nil, err
	}
	signed := false
	if a[2] != nil {
		if signed, err = truthy(rt, a[2]); err != nil {
			return nil, err
		}
	}
	if size < 0 {
		return nil, valueErr("length argument must be non-negative")
	}
	if err := rt.charge(size); err != nil {
		return nil, err
	}
	m := n
	switch {
	case n.Sign() < 0 && !signed:
		return nil, overflowErr("can't convert negative int to unsigned")
	case n.Sign() < 0:
		if new(big.Int).Not(n).BitLen() >= size*8 {
			return nil, overflowErr("int too big to convert")
		}
		m = new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), uint(size*8)))
	case n.BitLen() > size*8, signed && n.BitLen() >= size*8 && n.Sign() != 0:
		return nil, overflowErr("int too big to convert")
	}
	out := m.FillBytes(make([]byte, size))
	if little {
		for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
			out[i], out[j] = out[j], out[i]
		}
	}
	return bytesValue(out), nil
}

func intFromBytes(a []Value) (Value, error) {
	b, ok := a[0].(bytesValue)
	if !ok {
		return nil, typeErr("cannot convert '%s' object to bytes", a[0].typeName())
	}
	little, err := byteOrder(a[1])
	if err != nil {
		return nil, err
	}
	buf := []byte(b)
	if little {
		for i, j := 0, len(buf)-1; i < j; i, j = i+1, j-1 {
			buf[i], buf[j] = buf[j], buf[i]
		}
	}
	return normBig(new(big.Int).SetBytes(buf)), nil
}

func floatAttr(f floatValue, name string) Value {
	x := float64(f)
	switch name {
	case "is_integer":
		return noArgs(f, name, func() (Value, error) { return Bool(x == math.Trunc(x) && !math.IsInf(x, 0)), nil })
	case "hex":
		return noArgs(f, name, func() (Value, error) { return strValue(hexFloat(x)), nil })
	case "as_integer_ratio":
		return noArgs(f, name, func() (Value, error) {
			switch {
			case math.IsNaN(x):
				return nil, valueErr("cannot convert NaN to integer ratio")
			case math.IsInf(x, 0):
				return nil, overflowErr("cannot convert Infinity to integer ratio")
			}
			r := new(big.Rat)
			r.SetFloat64(x)
			return newTuple([]Value{BigInt(r.Num()), BigInt(r.Denom())}), nil
		})
	case "fromhex":
		return newMethod(name, "string /", func(_ *state, _ Value, a []Value) (Value, error) {
			s, err := textArg(a[0], "fromhex() argument")
			if err != nil {
				return nil, err
			}
			s = strings.ToLower(strings.TrimSpace(s))
			if !strings.Contains(s, "p") {
				s += "p0"
			}
			v, err := strconv.ParseFloat(s, 64)
			if err != nil {
				return nil, valueErr("invalid hexadecimal floating-point string")
			}
			return floatValue(v), nil
		}).bind(f, name)
	}
	return nil
}

// hexFloat is float.hex.
func hexFloat(x float64) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return reprFloat(x)
	case x == 0:
		if math.Signbit(x) {
			return "-0x0.0p+0"
		}
		return "0x0.0p+0"
	}
	b := math.Float64bits(x)
	exp := int(b>>52) & 0x7ff
	mant := b & (1<<52 - 1)
	lead := "1"
	if exp == 0 {
		lead, exp = "0", 1
	}
	sign := ""
	if math.Signbit(x) {
		sign = "-"
	}
	digits := strconv.FormatUint(mant, 16)
	digits = strings.Repeat("0", 13-len(digits)) + digits
	e := exp - 1023
	es := "+" + strconv.Itoa(e)
	if e < 0 {
		es = strconv.Itoa(e)
	}
	return sign + "0x" + lead + "." + digits + "p" + es
}
