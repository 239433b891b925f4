package restjson

import (
	"math"
	"math/bits"
)

// integer is an exact number without a fraction. overflow reports that its magnitude exceeds 64 bits.
type integer struct {
	negative  bool
	magnitude uint64
	overflow  bool
}

// parseInteger reads the literal of a number exactly, without a float: 3, 3.0, 30e-1 and 3e0 are all three. It returns false if
// the number has a fraction.
func parseInteger(lexeme []byte) (n integer, whole bool) {
	if len(lexeme) > 0 && lexeme[0] == '-' {
		n.negative = true
		lexeme = lexeme[1:]
	}
	// digits is the number without its decimal point; point is the number of digits before it.
	var buf [64]byte
	digits, point, exponent := buf[:0], 0, 0
	seenPoint := false
scan:
	for i, c := range lexeme {
		switch {
		case c == '.':
			seenPoint = true
		case c == 'e' || c == 'E':
			exponent = parseExponent(lexeme[i+1:])
			break scan
		default:
			if c == '0' && len(digits) == 0 {
				if seenPoint {
					point-- // a zero between the point and the first digit
				}
				continue
			}
			digits = append(digits, c)
			if !seenPoint {
				point++
			}
		}
	}
	if len(digits) == 0 {
		return integer{}, true
	}
	point += exponent
	for i := max(point, 0); i < len(digits); i++ {
		if digits[i] != '0' {
			return n, false
		}
	}
	if point > 20 {
		n.overflow = true
		return n, true
	}
	for i := range point {
		var digit uint64
		if i < len(digits) {
			digit = uint64(digits[i] - '0')
		}
		high, low := bits.Mul64(n.magnitude, 10)
		sum, carry := bits.Add64(low, digit, 0)
		if high != 0 || carry != 0 {
			n.overflow = true
			return n, true
		}
		n.magnitude = sum
	}
	return n, true
}

// parseExponent reads the digits after the e, clamped far outside any range.
func parseExponent(s []byte) int {
	negative := false
	if s[0] == '+' || s[0] == '-' {
		negative = s[0] == '-'
		s = s[1:]
	}
	v := 0
	for _, c := range s {
		if v < 1<<30 {
			v = v*10 + int(c-'0')
		}
	}
	if negative {
		return -v
	}
	return v
}

// int64 returns the value, and below or above if it does not fit.
func (n integer) int64() (v int64, below, above bool) {
	switch {
	case n.negative && (n.overflow || n.magnitude > 1<<63):
		return 0, true, false
	case !n.negative && (n.overflow || n.magnitude > math.MaxInt64):
		return 0, false, true
	case n.negative:
		return -int64(n.magnitude), false, false
	}
	return int64(n.magnitude), false, false
}
