package jinja

import (
	"math"
	"strconv"
	"strings"
)

// formatFloat formats |f| as e, f, g or r (shortest) by Python's rules. alt keeps the point and trailing zeros; dot0 adds ".0"
// to a result without a fraction.
func formatFloat(f float64, form byte, prec int, alt, dot0 bool) string {
	f = math.Abs(f)
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return "inf"
	}
	var s string
	switch form {
	case 'r':
		return strings.TrimPrefix(reprFloat(f), "-")
	case 'e', 'f':
		s = strconv.FormatFloat(f, form, prec, 64)
	default:
		s = formatGeneral(f, max(prec, 1), alt, dot0)
	}
	if alt && strings.IndexByte(s, '.') < 0 {
		if i := strings.IndexByte(s, 'e'); i >= 0 {
			return s[:i] + "." + s[i:]
		}
		return s + "."
	}
	return s
}

func formatGeneral(f float64, prec int, alt, dot0 bool) string {
	s := strconv.FormatFloat(f, 'e', prec-1, 64)
	i := strings.IndexByte(s, 'e')
	exp, _ := strconv.Atoi(s[i+1:])
	limit := prec
	if dot0 {
		limit--
	}
	if exp < -4 || exp >= limit && !(exp == 0 && limit == 0) {
		mant := s[:i]
		if !alt {
			mant = trimZeros(mant)
		}
		return mant + s[i:]
	}
	s = strconv.FormatFloat(f, 'f', max(prec-1-exp, 0), 64)
	if !alt {
		s = trimZeros(s)
	}
	if dot0 && strings.IndexByte(s, '.') < 0 {
		s += ".0"
	}
	return s
}

func trimZeros(s string) string {
	if strings.IndexByte(s, '.') < 0 {
		return s
	}
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// group inserts sep between groups of size digits, from the right, up to the point or exponent. It pads with zeros to width
// characters.
func group(digits, sep string, size, width int) string {
	intPart, rest := digits, ""
	for i, c := range digits {
		if c == '.' || c == 'e' || c == '%' {
			intPart, rest = digits[:i], digits[i:]
			break
		}
	}
	if sep == "" {
		if n := width - len(digits); n > 0 {
			return strings.Repeat("0", n) + digits
		}
		return digits
	}
	var b []byte
	for i, n := len(intPart)-1, 0; i >= 0 || len(b)+len(rest) < width; i, n = i-1, n+1 {
		if n > 0 && n%size == 0 {
			b = append(b, sep[0])
		}
		if i >= 0 {
			b = append(b, intPart[i])
		} else {
			b = append(b, '0')
		}
	}
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b) + rest
}
