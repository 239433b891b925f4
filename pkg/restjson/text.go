package restjson

import (
	"math"
	"slices"
	"strconv"
)

// AppendFloat appends the shortest number that reads back as x, always with a decimal point or an exponent: 1.0, 0.00001, 1e-7,
// 1e+16. NaN and the infinities, which JSON lacks, are null.
func AppendFloat(dst []byte, x float64) []byte {
	return appendFloat(dst, x, 64)
}

func appendFloat(dst []byte, x float64, bits int) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return append(dst, "null"...)
	}
	if a := math.Abs(x); a != 0 && (a < 1e-5 || a >= 1e16) {
		dst = strconv.AppendFloat(dst, x, 'e', -1, bits)
		// strconv pads the exponent to two digits.
		if n := len(dst); dst[n-2] == '0' && (dst[n-3] == '-' || dst[n-3] == '+') {
			dst[n-2] = dst[n-1]
			dst = dst[:n-1]
		}
		return dst
	}
	n := len(dst)
	dst = strconv.AppendFloat(dst, x, 'f', -1, bits)
	if slices.Contains(dst[n:], '.') {
		return dst
	}
	return append(dst, ".0"...)
}
