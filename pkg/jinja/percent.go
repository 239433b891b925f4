package jinja

import (
	"math"
	"math/big"
	"strings"
	"unicode/utf8"
)

// percentFormat is Python's s % arg.
func (rt *state) percentFormat(s string, arg Value, markup bool) (Value, error) {
	p := percentFormatter{rt: rt, s: s, markup: markup}
	switch a := arg.(type) {
	case *tupleValue:
		p.args = a.items
	case *dictValue, *listValue, *undefinedValue, rangeValue, bytesValue, *selfValue:
		p.mapping = arg
		p.args = []Value{arg}
	default:
		p.args = []Value{arg}
	}
	if err := p.run(); err != nil {
		return nil, err
	}
	return strLike(p.b.String(), markup), nil
}

type percentFormatter struct {
	rt      *state
	s       string
	at      int
	b       strings.Builder
	args    []Value
	next    int
	mapping Value // nil if the argument is not a mapping
	keyed   bool  // a mapping key was used
	markup  bool
}

func (p *percentFormatter) run() error {
	for {
		i := strings.IndexByte(p.s[p.at:], '%')
		if i < 0 {
			i = len(p.s) - p.at
		}
		if err := p.rt.charge(2 * i); err != nil {
			return err
		}
		p.b.WriteString(p.s[p.at : p.at+i])
		p.at += i
		if p.at >= len(p.s) {
			break
		}
		if err := p.rt.step(); err != nil {
			return err
		}
		p.at++
		if err := p.field(); err != nil {
			return err
		}
	}
	if p.next < len(p.args) && p.mapping == nil {
		return typeErr("not all arguments converted during string formatting")
	}
	return nil
}

func (p *percentFormatter) arg() (Value, error) {
	if p.next >= len(p.args) || p.keyed {
		return nil, typeErr("not enough arguments for format string")
	}
	p.next++
	return p.args[p.next-1], nil
}

// field formats one conversion. p.at is after the percent sign.
func (p *percentFormatter) field() error {
	var val Value
	if p.at < len(p.s) && p.s[p.at] == '(' {
		v, err := p.key()
		if err != nil {
			return err
		}
		val = v
	}
	f := formatSpec{prec: -1, fill: " ", align: '>'}
	left := false
	for ; p.at < len(p.s); p.at++ {
		switch p.s[p.at] {
		case '-':
			left = true
		case '+':
			f.sign = '+'
		case ' ':
			if f.sign == 0 {
				f.sign = ' '
			}
		case '#':
			f.alt = true
		case '0':
			f.zero = true
		default:
			goto width
		}
	}
width:
	var err error
	if f.width, err = p.number(); err != nil {
		return err
	}
	if f.width < 0 {
		left, f.width = true, -f.width
	}
	if p.at < len(p.s) && p.s[p.at] == '.' {
		p.at++
		if f.prec, err = p.number(); err != nil {
			return err
		}
		f.prec = max(f.prec, 0)
	}
	if p.at < len(p.s) && strings.IndexByte("hlL", p.s[p.at]) >= 0 {
		p.at++
	}
	if p.at >= len(p.s) {
		return valueErr("incomplete format")
	}
	r, n := utf8.DecodeRuneInString(p.s[p.at:])
	p.at += n
	if r == '%' {
		p.b.WriteByte('%')
		return nil
	}
	if val == nil {
		if val, err = p.arg(); err != nil {
			return err
		}
	}
	switch {
	case left:
		f.align = '<'
	case f.zero:
		f.align, f.fill = '=', "0"
	}
	text, err := p.convert(r, val, f)
	if err != nil {
		return err
	}
	if err := p.rt.charge(2 * len(text)); err != nil {
		return err
	}
	p.b.WriteString(text)
	return nil
}

func (p *percentFormatter) key() (Value, error) {
	if p.mapping == nil {
		return nil, typeErr("format requires a mapping")
	}
	depth, start := 1, p.at+1
	for p.at++; p.at < len(p.s); p.at++ {
		switch p.s[p.at] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth == 0 {
			break
		}
	}
	if depth > 0 {
		return nil, valueErr("incomplete format key")
	}
	key := p.s[start:p.at]
	p.at++
	p.keyed = true
	return p.rt.subscript(p.mapping, strValue(key))
}

// number reads a width or precision, which "*" takes from the arguments.
func (p *percentFormatter) number() (int, error) {
	if p.at < len(p.s) && p.s[p.at] == '*' {
		p.at++
		v, err := p.arg()
		if err != nil {
			return 0, err
		}
		n, ok := AsInt(v)
		if !ok {
			if _, big := v.(bigValue); big {
				return 0, overflowErr("Python int too large to convert to C ssize_t")
			}
			return 0, typeErr("* wants int")
		}
		return int(max(min(n, maxIndex), -maxIndex)), nil
	}
	n := 0
	for p.at < len(p.s) && isDecimal(p.s[p.at]) {
		if n = n*10 + int(p.s[p.at]-'0'); n > maxIndex/10 {
			return 0, valueErr("width too big")
		}
		p.at++
	}
	return n, nil
}

func (p *percentFormatter) convert(r rune, v Value, f formatSpec) (string, error) {
	rt := p.rt
	switch r {
	case 's', 'r', 'a':
		return p.text(r, v, f)
	case 'd', 'i', 'u':
		n, err := rt.percentInt(v)
		if err != nil {
			return "", err
		}
		return p.integer(n, 10, r, f)
	case 'x', 'X', 'o':
		n, ok := toBig(v)
		if !ok {
			return "", typeErr("%%%c format: an integer is required, not %s", r, v.typeName())
		}
		base := 16
		if r == 'o' {
			base = 8
		}
		return p.integer(n, base, r, f)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		x, err := rt.float(v)
		if err != nil {
			return "", err
		}
		f.kind = byte(r)
		return rt.formatReal(x, f)
	case 'c':
		return p.char(v, f)
	}
	return "", valueErr("unsupported format character '%c' (0x%x) at index %d", r, r, utf8.RuneCountInString(p.s[:p.at])-1)
}

func (p *percentFormatter) text(r rune, v Value, f formatSpec) (string, error) {
	var s string
	var err error
	switch {
	case r == 's' && p.markup:
		s, err = p.rt.escape(v)
	case r == 's':
		s, err = p.rt.str(v)
	default:
		if s, err = p.rt.repr(v); err == nil && r == 'a' {
			s = asciiOnly(s)
		}
		if err == nil && p.markup {
			s, err = p.rt.escapeText(s)
		}
	}
	if err != nil {
		return "", err
	}
	if f.prec >= 0 && utf8.RuneCountInString(s) > f.prec {
		s = s[:runeOffset(s, f.prec)]
	}
	if f.align == '=' {
		f.align, f.fill = '>', " "
	}
	return p.rt.align(s, f, '>')
}

func (p *percentFormatter) integer(n *big.Int, base int, r rune, f formatSpec) (string, error) {
	if base == 10 && n.BitLen() > 64 {
		if _, err := p.rt.bigText(bigValue{n}); err != nil {
			return "", err
		}
	}
	digits := absDigits(n, base)
	if k := f.prec - len(digits); k > 0 {
		if err := p.rt.charge(2 * k); err != nil {
			return "", err
		}
		digits = strings.Repeat("0", k) + digits
	}
	prefix := ""
	if f.alt {
		switch r {
		case 'x':
			prefix = "0x"
		case 'X':
			prefix = "0X"
		case 'o':
			prefix = "0o"
		}
	}
	if r == 'X' {
		digits = strings.ToUpper(digits)
	}
	f.prec = -1
	return p.rt.number(n.Sign() < 0, prefix, digits, f, 3)
}

func (p *percentFormatter) char(v Value, f formatSpec) (string, error) {
	s, ok := asText(v)
	if !ok {
		n, isInt := toBig(v)
		if !isInt {
			return "", typeErr("%%c requires int or char")
		}
		if !n.IsInt64() || n.Int64() < 0 || n.Int64() > utf8.MaxRune {
			return "", overflowErr("%%c arg not in range(0x110000)")
		}
		s = string(rune(n.Int64()))
	} else if utf8.RuneCountInString(s) != 1 {
		return "", typeErr("%%c requires int or char")
	}
	if f.align == '=' {
		f.align, f.fill = '>', " "
	}
	return p.rt.align(s, f, '>')
}

// percentInt returns a number as %d converts it.
func (rt *state) percentInt(v Value) (*big.Int, error) {
	if n, ok := toBig(v); ok {
		return n, nil
	}
	switch v := v.(type) {
	case floatValue:
		return floatToBig(float64(v))
	case *undefinedValue:
		return nil, v.fail()
	}
	return nil, typeErr("%%d format: a real number is required, not %s", v.typeName())
}

// floatToBig is Python's int(f).
func floatToBig(f float64) (*big.Int, error) {
	switch {
	case math.IsNaN(f):
		return nil, valueErr("cannot convert float NaN to integer")
	case math.IsInf(f, 0):
		return nil, overflowErr("cannot convert float infinity to integer")
	}
	n, _ := big.NewFloat(f).Int(nil)
	return n, nil
}

// float is Python's float(v) for numbers.
func (rt *state) float(v Value) (float64, error) {
	if u, ok := v.(*undefinedValue); ok {
		return 0, u.fail()
	}
	return toFloat(v)
}

// asciiOnly escapes what is not ASCII, as ascii() does.
func asciiOnly(s string) string {
	if isASCII(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r < 0x100:
			b.WriteString("\\x" + hexDigits(r, 2))
		case r < 0x10000:
			b.WriteString("\\u" + hexDigits(r, 4))
		default:
			b.WriteString("\\U" + hexDigits(r, 8))
		}
	}
	return b.String()
}

func hexDigits(r rune, n int) string {
	const digits = "0123456789abcdef"
	b := make([]byte, n)
	for i := n - 1; i >= 0; i-- {
		b[i] = digits[r&15]
		r >>= 4
	}
	return string(b)
}
