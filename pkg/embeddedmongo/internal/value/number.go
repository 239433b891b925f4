package value

import (
	"math"
	"math/bits"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Add adds two numbers in the wider of their types; an int32 that overflows becomes an int64. ok is false when an int64
// overflows or a decimal is involved.
func Add(a, b Value) (sum Value, ok bool) {
	return arith(a, b, func(x, y float64) float64 { return x + y }, func(x, y int64) (int64, bool) {
		s := x + y
		return s, (s > x) == (y > 0)
	})
}

// Sub subtracts, with the types of Add.
func Sub(a, b Value) (Value, bool) {
	return arith(a, b, func(x, y float64) float64 { return x - y }, func(x, y int64) (int64, bool) {
		s := x - y
		return s, (s < x) == (y > 0)
	})
}

// Mul multiplies, with the types of Add.
func Mul(a, b Value) (Value, bool) {
	return arith(a, b, func(x, y float64) float64 { return x * y }, func(x, y int64) (int64, bool) {
		hi, lo := bits.Mul64(magnitude(x), magnitude(y))
		neg := (x < 0) != (y < 0)
		switch {
		case hi != 0 || lo > 1<<63 || (lo == 1<<63 && !neg):
			return 0, false
		case neg:
			return -int64(lo), true
		}
		return int64(lo), true
	})
}

func arith(a, b Value, ff func(x, y float64) float64, fi func(x, y int64) (int64, bool)) (Value, bool) {
	if a.T == bson.TypeDecimal128 || b.T == bson.TypeDecimal128 {
		return Value{}, false
	}
	if a.T == bson.TypeDouble || b.T == bson.TypeDouble {
		return OfDouble(ff(a.Float(), b.Float())), true
	}
	r, ok := fi(a.integer(), b.integer())
	if !ok {
		return Value{}, false
	}
	if a.T == bson.TypeInt32 && b.T == bson.TypeInt32 && r >= math.MinInt32 && r <= math.MaxInt32 {
		return OfInt32(int32(r)), true
	}
	return OfInt64(r), true
}
