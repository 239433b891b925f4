package value

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// AppendKey appends an encoding of v whose byte order is Compare's order. No encoding is a prefix of another, so fields can be
// concatenated; with desc the bytes are inverted, which reverses the order.
//
//	class byte | payload
//	  number     8 bytes ordered float | 80, or 7f/81 + exact decimal digits when the float is rounded
//	  string     bytes, 00 as 00 ff | 00 00
//	  document   (class, name, 00, payload)* | 00
//	  array      the same without names
//	  binary     length (4) | subtype | bytes
func AppendKey(dst []byte, v Value, desc bool) []byte {
	at := len(dst)
	dst = append(dst, Class(v.T))
	dst = appendPayload(dst, v)
	if desc {
		for i := at; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}

// ReadKey decodes the first encoding in b to an equal value. Null stands for a missing value too, a double for any number that it
// represents exactly. ok is false for types that ReadKey does not decode. n is the length of the encoding in any case. The value
// uses the capacity of buf.
func ReadKey(b []byte, desc bool, buf []byte) (v Value, n int, ok bool) {
	n = KeyLen(b, desc)
	x := byte(0)
	if desc {
		x = 0xff
	}
	buf = buf[:0]
	switch payload := b[1:n]; b[0] ^ x {
	case ClassNull:
		return Null, n, true
	case ClassNumber:
		var raw [9]byte
		for i := range raw {
			raw[i] = payload[i] ^ x
		}
		u := binary.BigEndian.Uint64(raw[:])
		if u>>63 != 0 {
			u &^= 1 << 63
		} else {
			u = ^u
		}
		return Value{T: bson.TypeDouble, B: binary.LittleEndian.AppendUint64(buf, u)}, n, raw[8] == 0x80
	case ClassBinary:
		buf = binary.LittleEndian.AppendUint32(buf, uint32(len(payload)-5))
		for _, c := range payload[4:] {
			buf = append(buf, c^x)
		}
		return Value{T: bson.TypeBinary, B: buf}, n, true
	case ClassString:
		buf = append(buf, 0, 0, 0, 0)
		for i := 0; i < len(payload)-2; i++ {
			if buf = append(buf, payload[i]^x); payload[i] == x {
				i++ // The escape after a NUL byte.
			}
		}
		buf = append(buf, 0)
		binary.LittleEndian.PutUint32(buf, uint32(len(buf)-4))
		return Value{T: bson.TypeString, B: buf}, n, true
	}
	return Value{}, n, false
}

func appendPayload(dst []byte, v Value) []byte {
	switch Class(v.T) {
	case ClassNumber:
		return appendNumber(dst, v)
	case ClassString:
		return appendEscaped(dst, v.strBytes())
	case ClassObject:
		for it := v.Doc().Iter(); ; {
			k, e, ok := it.Next()
			if !ok {
				return append(dst, 0)
			}
			dst = append(dst, Class(e.T))
			dst = append(dst, k...)
			dst = append(dst, 0)
			dst = appendPayload(dst, e)
		}
	case ClassArray:
		for it := v.Doc().Iter(); ; {
			_, e, ok := it.Next()
			if !ok {
				return append(dst, 0)
			}
			dst = append(dst, Class(e.T))
			dst = appendPayload(dst, e)
		}
	case ClassBinary:
		dst = binary.BigEndian.AppendUint32(dst, binary.LittleEndian.Uint32(v.B))
		return append(dst, v.B[4:]...)
	case ClassObjectID:
		return append(dst, v.B...)
	case ClassBool:
		return append(dst, v.B[0])
	case ClassDate:
		return binary.BigEndian.AppendUint64(dst, uint64(v.Int64())^(1<<63))
	case ClassTimestamp:
		return binary.BigEndian.AppendUint64(dst, uint64(v.Int64()))
	case ClassRegex, ClassDBPointer, ClassCode, ClassCodeScope:
		return appendEscaped(dst, v.B)
	}
	return dst
}

func appendEscaped(dst, b []byte) []byte {
	for {
		i := bytes.IndexByte(b, 0)
		if i < 0 {
			dst = append(dst, b...)
			return append(dst, 0, 0)
		}
		dst = append(dst, b[:i]...)
		dst = append(dst, 0, 0xff)
		b = b[i+1:]
	}
}

func orderedFloat(f float64) uint64 {
	if f == 0 {
		f = 0 // Negative zero is zero.
	}
	u := math.Float64bits(f)
	if u>>63 != 0 {
		return ^u
	}
	return u | 1<<63
}

// appendNumber writes the nearest double. A number that the double does not represent exactly adds its side of the double and its
// exact decimal digits. Rounding is monotone, so the doubles decide the order first.
func appendNumber(dst []byte, v Value) []byte {
	var f float64
	switch v.T {
	case bson.TypeInt32:
		f = float64(v.Int32())
	case bson.TypeInt64:
		i := v.Int64()
		f = float64(i)
		// The difference is small; modular arithmetic gives it even where the double is 2^63.
		if r := i - int64wrap(f); r != 0 {
			dst = binary.BigEndian.AppendUint64(dst, orderedFloat(f))
			return appendRounded(dst, r < 0, i < 0, strconv.FormatUint(magnitude(i), 10), 0)
		}
	case bson.TypeDouble:
		f = v.Double()
	case bson.TypeDecimal128:
		return appendDecimal(dst, v)
	}
	if math.IsNaN(f) {
		return append(dst, 0, 0, 0, 0, 0, 0, 0, 0, 0x80)
	}
	dst = binary.BigEndian.AppendUint64(dst, orderedFloat(f))
	return append(dst, 0x80)
}

func magnitude(i int64) uint64 {
	if i < 0 {
		return uint64(-i)
	}
	return uint64(i)
}

// int64wrap converts an integral double in [-2^63, 2^63]; 2^63 wraps.
func int64wrap(f float64) int64 {
	if f >= 1<<63 {
		return math.MinInt64
	}
	return int64(f)
}

// appendRounded writes the exact digits of a number that its double does not represent. below means that the number is smaller
// than the double.
func appendRounded(dst []byte, below, negative bool, digits string, exp int) []byte {
	if below {
		dst = append(dst, 0x7f)
	} else {
		dst = append(dst, 0x81)
	}
	at := len(dst)
	digits = strings.TrimLeft(digits, "0")
	point := exp + len(digits) // The number is 0.digits × 10^point.
	digits = strings.TrimRight(digits, "0")
	dst = binary.BigEndian.AppendUint16(dst, uint16(point+0x8000))
	dst = append(dst, digits...)
	dst = append(dst, 0)
	if negative {
		for i := at; i < len(dst); i++ {
			dst[i] = ^dst[i]
		}
	}
	return dst
}

// decimal reads a decimal128: digits × 10^exp; ok is false for NaN and infinities.
func decimal(v Value) (n *big.Int, exp int, ok bool, d bson.Decimal128) {
	l, h := binary.LittleEndian.Uint64(v.B), binary.LittleEndian.Uint64(v.B[8:])
	d = bson.NewDecimal128(h, l)
	n, exp, err := d.BigInt()
	return n, exp, err == nil, d
}

func decimalFloat(v Value) (float64, bool) {
	n, exp, ok, d := decimal(v)
	if !ok {
		switch {
		case d.IsNaN():
			return math.NaN(), true
		case d.IsInf() > 0:
			return math.Inf(1), true
		}
		return math.Inf(-1), true
	}
	f, _ := strconv.ParseFloat(n.String()+"e"+strconv.Itoa(exp), 64)
	return f, false
}

func appendDecimal(dst []byte, v Value) []byte {
	f, special := decimalFloat(v)
	if special {
		return appendNumber(dst, OfDouble(f))
	}
	n, exp, _, _ := decimal(v)
	side := compareDecimalFloat(n, exp, f)
	if side == 0 {
		return appendNumber(dst, OfDouble(f))
	}
	dst = binary.BigEndian.AppendUint64(dst, orderedFloat(f))
	return appendRounded(dst, side < 0, n.Sign() < 0, new(big.Int).Abs(n).String(), exp)
}

// compareDecimalFloat compares n × 10^exp with a double exactly.
func compareDecimalFloat(n *big.Int, exp int, f float64) int {
	if math.IsInf(f, 1) {
		return -1
	}
	if math.IsInf(f, -1) {
		return 1
	}
	if f == 0 {
		return n.Sign()
	}
	r := new(big.Rat).SetInt(n)
	p := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(abs(exp))), nil))
	if exp < 0 {
		r.Quo(r, p)
	} else {
		r.Mul(r, p)
	}
	return r.Cmp(new(big.Rat).SetFloat64(f))
}

func abs(i int) int {
	if i < 0 {
		return -i
	}
	return i
}
