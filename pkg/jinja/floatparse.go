package jinja

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
)

// digitOf is the value of a decimal digit of any script.
func digitOf(r rune) (rune, bool) {
	if !unicode.Is(unicode.Nd, r) {
		return 0, false
	}
	// Decimal digits are in runs of ten that start at zero.
	for _, rg := range unicode.Nd.R16 {
		if rune(rg.Lo) <= r && r <= rune(rg.Hi) {
			return (r - rune(rg.Lo)) % 10, true
		}
	}
	for _, rg := range unicode.Nd.R32 {
		if rune(rg.Lo) <= r && r <= rune(rg.Hi) {
			return (r - rune(rg.Lo)) % 10, true
		}
	}
	return 0, false
}

// parseFloat is Python's float(v).
func (rt *state) parseFloat(v Value) (float64, error) {
	s, ok := asText(v)
	if !ok {
		if u, ok := v.(*undefinedValue); ok {
			return 0, u.fail()
		}
		if !isNumber(v) {
			return 0, typeErr("float() argument must be a string or a real number, not '%s'", v.typeName())
		}
		return toFloat(v)
	}
	if err := rt.work(len(s) / 16); err != nil {
		return 0, err
	}
	f, ok := scanPythonFloat(s)
	if !ok {
		return 0, valueErr("could not convert string to float: %s", reprStr(s))
	}
	return f, nil
}

// scanPythonFloat reads a float as Python's float() does.
func scanPythonFloat(s string) (float64, bool) {
	t := asciiDigits(strip(s, nil, true, true))
	if t == "" || !isASCII(t) || strings.ContainsAny(t, "xXpP") {
		return 0, false
	}
	if strings.Contains(t, "_") {
		for i := range len(t) {
			if t[i] == '_' && (i == 0 || i == len(t)-1 || !isDecimal(t[i-1]) || !isDecimal(t[i+1])) {
				return 0, false
			}
		}
		t = strings.ReplaceAll(t, "_", "")
	}
	f, err := strconv.ParseFloat(t, 64)
	if err != nil {
		if !errors.Is(err, strconv.ErrRange) {
			return 0, false
		}
	}
	return f, true
}
