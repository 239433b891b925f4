package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// formatSpec is a parsed format specification, the part after the colon of a replacement field.
type formatSpec struct {
	fill  string
	align byte // '<', '>', '=', '^', 0 when not given
	sign  byte // '+', '-', ' ', 0
	noNeg bool // z: no negative zero
	alt   bool
	zero  bool
	width int
	group string // "," or "_"
	prec  int    // -1: not given
	kind  byte   // 0: not given
}

func parseSpec(s string) (formatSpec, error) {
	f := formatSpec{prec: -1, fill: " "}
	isAlign := func(c byte) bool { return strings.IndexByte("<>=^", c) >= 0 }
	if _, n := utf8.DecodeRuneInString(s); n > 0 && len(s) > n && isAlign(s[n]) {
		f.fill, f.align, s = s[:n], s[n], s[n+1:]
	} else if s != "" && isAlign(s[0]) {
		f.align, s = s[0], s[1:]
	}
	take := func(set string) byte {
		if s != "" && strings.IndexByte(set, s[0]) >= 0 {
			c := s[0]
			s = s[1:]
			return c
		}
		return 0
	}
	f.sign = take("+- ")
	f.noNeg = take("z") != 0
	f.alt = take("#") != 0
	if f.zero = take("0") != 0; f.zero && f.align == 0 {
		f.align = '='
	}
	if f.zero && f.fill == " " {
		f.fill = "0"
	}
	number := func() (int, bool, error) {
		n, ok := 0, false
		for s != "" && isDecimal(s[0]) {
			n, ok = n*10+int(s[0]-'0'), true
			if n > math.MaxInt32*1000 {
				return 0, true, valueErr("Too many decimal digits in format string")
			}
			s = s[1:]
		}
		return n, ok, nil
	}
	var err error
	if f.width, _, err = number(); err != nil {
		return f, err
	}
	if c := take(",_"); c != 0 {
		f.group = string(c)
		if take(",_") != 0 {
			return f, valueErr("Cannot specify both ',' and '_'.")
		}
	}
	if take(".") != 0 {
		var ok bool
		if f.prec, ok, err = number(); err != nil {
			return f, err
		}
		if !ok {
			return f, valueErr("Format specifier missing precision")
		}
	}
	if len(s) > 1 {
		if utf8.RuneCountInString(s) > 1 {
			return f, valueErr("Invalid format specifier")
		}
		return f, valueErr("Unknown format code")
	}
	if s != "" {
		f.kind = s[0]
	}
	if f.group != "" && f.kind != 0 && strings.IndexByte("defgEGF%", f.kind) < 0 {
		if f.group == "," || strings.IndexByte("boxX", f.kind) < 0 {
			return f, valueErr("Cannot specify '%s' with '%c'.", f.group, f.kind)
		}
	}
	return f, nil
}

// format is Python's format(v, spec).
func (rt *state) format(v Value, text string) (string, error) {
	if text == "" {
		return rt.str(v)
	}
	switch v := v.(type) {
	case strValue, markupValue:
		spec, err := parseSpec(text)
		if err != nil {
			return "", err
		}
		s, _ := asText(v)
		return rt.formatText(s, spec)
	case intValue, boolValue, bigValue:
		spec, err := parseSpec(text)
		if err != nil {
			return "", err
		}
		return rt.formatInt(v, spec)
	case floatValue:
		spec, err := parseSpec(text)
		if err != nil {
			return "", err
		}
		return rt.formatReal(float64(v), spec)
	}
	return "", typeErr("unsupported format string passed to %s.__format__", v.typeName())
}

func (rt *state) formatText(s string, f formatSpec) (string, error) {
	switch {
	case f.kind != 0 && f.kind != 's':
		return "", valueErr("Unknown format code '%c' for object of type 'str'", f.kind)
	case f.sign != 0:
		return "", valueErr("Sign not allowed in string format specifier")
	case f.noNeg:
		return "", valueErr("Negative zero coercion (z) not allowed in string format specifier")
	case f.alt:
		return "", valueErr("Alternate form (#) not allowed in string format specifier")
	case f.group != "":
		return "", valueErr("Cannot specify '%s' with 's'.", f.group)
	case f.align == '=' && !f.zero:
		return "", valueErr("'=' alignment not allowed in string format specifier")
	}
	if f.align == '=' {
		f.align = '<'
	}
	if f.prec >= 0 && utf8.RuneCountInString(s) > f.prec {
		s = s[:runeOffset(s, f.prec)]
	}
	return rt.align(s, f, '<')
}

func (rt *state) align(s string, f formatSpec, def byte) (string, error) {
	if f.align == 0 {
		f.align = def
	}
	switch f.align {
	case '<':
		return rt.pad(s, f.width, f.fill, padRight)
	case '^':
		return rt.pad(s, f.width, f.fill, func(n, width int) int { return (width - n) / 2 })
	}
	return rt.pad(s, f.width, f.fill, padLeft)
}

// number combines sign, prefix, digits and padding.
func (rt *state) number(negative bool, prefix, digits string, f formatSpec, size int) (string, error) {
	sign := ""
	switch {
	case negative:
		sign = "-"
	case f.sign == '+' || f.sign == ' ':
		sign = string(f.sign)
	}
	width := 0
	if f.align == '=' && f.fill == "0" {
		width = f.width - len(sign) - len(prefix)
	}
	if err := rt.charge(max(width, 0) + 2*len(digits)); err != nil {
		return "", err
	}
	digits = group(digits, f.group, size, width)
	if f.align == '=' {
		s, err := rt.pad(digits, f.width-len(sign)-len(prefix), f.fill, padLeft)
		return sign + prefix + s, err
	}
	return rt.align(sign+prefix+digits, f, '>')
}

func (rt *state) formatInt(v Value, f formatSpec) (string, error) {
	n, _ := toBig(v)
	switch f.kind {
	case 'e', 'E', 'f', 'F', 'g', 'G', '%':
		x, err := toFloat(v)
		if err != nil {
			return "", err
		}
		return rt.formatReal(x, f)
	}
	if f.prec >= 0 {
		return "", valueErr("Precision not allowed in integer format specifier")
	}
	if f.noNeg {
		return "", valueErr("Negative zero coercion (z) not allowed in format specifier with integer")
	}
	base, prefix, size := 10, "", 3
	switch f.kind {
	case 0, 'd', 'n':
	case 'c':
		return rt.formatChar(n, f)
	case 'b':
		base, prefix, size = 2, "0b", 4
	case 'o':
		base, prefix, size = 8, "0o", 4
	case 'x':
		base, prefix, size = 16, "0x", 4
	case 'X':
		base, prefix, size = 16, "0X", 4
	default:
		return "", valueErr("Unknown format code '%c' for object of type '%s'", f.kind, v.typeName())
	}
	if !f.alt || base == 10 {
		prefix = ""
	}
	if b, ok := v.(bigValue); ok && base == 10 {
		if _, err := rt.bigText(b); err != nil {
			return "", err
		}
	}
	digits := absDigits(n, base)
	if f.kind == 'X' {
		digits = strings.ToUpper(digits)
	}
	return rt.number(n.Sign() < 0, prefix, digits, f, size)
}

// absDigits are the digits of |n|.
func absDigits(n *big.Int, base int) string {
	if n.IsInt64() && n.Int64() > math.MinInt64 {
		return strconv.FormatInt(abs64(n.Int64()), base)
	}
	return new(big.Int).Abs(n).Text(base)
}

func (rt *state) formatChar(n *big.Int, f formatSpec) (string, error) {
	switch {
	case f.sign != 0:
		return "", valueErr("Sign not allowed with integer format specifier 'c'")
	case f.alt:
		return "", valueErr("Alternate form (#) not allowed with integer format specifier 'c'")
	case !n.IsInt64() || n.Int64() < 0 || n.Int64() > utf8.MaxRune:
		return "", overflowErr("%%c arg not in range(0x110000)")
	}
	return rt.align(string(rune(n.Int64())), f, '>')
}

func (rt *state) formatReal(x float64, f formatSpec) (string, error) {
	form, prec, dot0 := f.kind, f.prec, false
	if prec < 0 {
		prec = 6
	}
	upper := false
	percent := ""
	switch f.kind {
	case 0:
		if form = 'g'; f.prec < 0 {
			form = 'r'
		} else {
			prec, dot0 = max(f.prec, 1), true
		}
	case 'E', 'F', 'G':
		form, upper = f.kind|0x20, true
	case 'e', 'f', 'g':
	case 'n':
		form = 'g'
	case '%':
		form, percent = 'f', "%"
		x *= 100
	default:
		return "", valueErr("Unknown format code '%c' for object of type 'float'", f.kind)
	}
	if err := rt.charge(max(2*prec, 0) + 64); err != nil {
		return "", err
	}
	if err := rt.work(prec / 16); err != nil {
		return "", err
	}
	digits := formatFloat(x, form, prec, f.alt, dot0) + percent
	if upper {
		digits = strings.ToUpper(digits)
	}
	negative := math.Signbit(x) && !math.IsNaN(x)
	if f.noNeg && negative && strings.Trim(digits, "0.e+-%") == "" {
		negative = false
	}
	return rt.number(negative, "", digits, f, 3)
}
