package jinja

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxStrDigits is the maximum number of digits in Python's conversions between int and str.
const maxStrDigits = 4300

// str is Python's str(v).
func (rt *state) str(v Value) (string, error) {
	switch v := v.(type) {
	case strValue:
		return string(v), nil
	case markupValue:
		return string(v), nil
	case intValue:
		return strconv.FormatInt(int64(v), 10), nil
	case boolValue, noneValue, floatValue:
		return reprShort(v), nil
	case *undefinedValue:
		if v.mode == Strict {
			return "", v.fail()
		}
		return "", nil
	case *dictValue:
		if v.text != nil {
			s := v.text()
			return s, rt.charge(len(s))
		}
	case deltaValue:
		return v.text(), nil
	}
	return rt.repr(v)
}

// repr is Python's repr(v).
func (rt *state) repr(v Value) (string, error) {
	var b strings.Builder
	if err := rt.writeRepr(&b, v); err != nil {
		return "", err
	}
	return b.String(), nil
}

func (rt *state) writeRepr(b *strings.Builder, v Value) error {
	add := func(s string) error {
		if err := rt.charge(2 * len(s)); err != nil {
			return err
		}
		b.WriteString(s)
		return nil
	}
	switch v := v.(type) {
	case strValue:
		return add(reprStr(string(v)))
	case markupValue:
		return add("Markup(" + reprStr(string(v)) + ")")
	case bytesValue:
		return add(reprBytes(string(v)))
	case bigValue:
		s, err := rt.bigText(v)
		if err != nil {
			return err
		}
		return add(s)
	case *listValue:
		return rt.reprItems(b, v.items, "[", "]")
	case *tupleValue:
		if len(v.items) == 1 {
			return rt.reprItems(b, v.items, "(", ",)")
		}
		return rt.reprItems(b, v.items, "(", ")")
	case *dictValue:
		return rt.reprDict(b, v)
	case *dictView:
		items := make([]Value, len(v.d.keys))
		if err := rt.charge(sizeValue * 4 * len(items)); err != nil {
			return err
		}
		for i := range items {
			items[i] = v.at(i)
		}
		return rt.reprItems(b, items, v.typeName()+"([", "])")
	case rangeValue:
		s := fmt.Sprintf("range(%d, %d)", v.start, v.stop)
		if v.step != 1 {
			s = fmt.Sprintf("range(%d, %d, %d)", v.start, v.stop, v.step)
		}
		return add(s)
	case *namespaceValue:
		b.WriteString("<Namespace ")
		if err := rt.reprDict(b, v.attrs); err != nil {
			return err
		}
		return add(">")
	case *macroValue:
		return add(v.repr())
	case *loopValue:
		n, err := v.len(rt)
		if err != nil {
			return err
		}
		return add(fmt.Sprintf("<LoopContext %d/%d>", v.index0+1, n))
	case *undefinedValue:
		return add("Undefined")
	}
	return add(reprShort(v))
}

func (rt *state) reprItems(b *strings.Builder, items []Value, open, end string) error {
	if err := rt.nest(); err != nil {
		return err
	}
	defer rt.unnest()
	b.WriteString(open)
	for i, it := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		if err := rt.step(); err != nil {
			return err
		}
		if err := rt.charge(4); err != nil {
			return err
		}
		if err := rt.writeRepr(b, it); err != nil {
			return err
		}
	}
	b.WriteString(end)
	return nil
}

func (rt *state) reprDict(b *strings.Builder, d *dictValue) error {
	if err := rt.nest(); err != nil {
		return err
	}
	defer rt.unnest()
	b.WriteString("{")
	for i, k := range d.keys {
		if i > 0 {
			b.WriteString(", ")
		}
		if err := rt.step(); err != nil {
			return err
		}
		if err := rt.charge(8); err != nil {
			return err
		}
		if err := rt.writeRepr(b, k); err != nil {
			return err
		}
		b.WriteString(": ")
		if err := rt.writeRepr(b, d.vals[i]); err != nil {
			return err
		}
	}
	b.WriteString("}")
	return nil
}

// reprShort is repr for values without parts.
func reprShort(v Value) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case noneValue:
		return "None"
	case boolValue:
		if v {
			return "True"
		}
		return "False"
	case intValue:
		return strconv.FormatInt(int64(v), 10)
	case floatValue:
		return reprFloat(float64(v))
	case complexValue:
		return reprComplex(complex128(v))
	case strValue:
		return reprStr(string(v))
	case *funcValue:
		if v.class != "" {
			return "<class '" + v.class + "'>"
		}
		return "<function " + v.name + ">"
	case *selfValue:
		return "<TemplateReference None>"
	case *boundMethod:
		if v.kind == "BlockReference" {
			return "<jinja2.runtime.BlockReference object>"
		}
		return "<" + v.kind + " " + v.name + " of " + v.recv.typeName() + " object>"
	case *iterValue:
		return "<" + v.name + " object>"
	case deltaValue:
		return v.repr()
	case aliasValue:
		return string(v)
	case *cyclerValue:
		return "<jinja2.utils.Cycler object>"
	case *joinerValue:
		return "<jinja2.utils.Joiner object>"
	case sliceValue:
		return "slice(" + reprShort(v.start) + ", " + reprShort(v.stop) + ", " + reprShort(v.step) + ")"
	}
	return "<" + v.typeName() + " object>"
}

// reprFloat is repr of a float: the shortest digits that read back, with an exponent below 1e-4 and from 1e16 on.
func reprFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		s := strconv.FormatFloat(f, 'e', -1, 64)
		return s
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if strings.IndexByte(s, '.') < 0 {
		s += ".0"
	}
	return s
}

func reprComplex(c complex128) string {
	part := func(f float64) string { return strings.TrimSuffix(reprFloat(f), ".0") }
	if real(c) == 0 && !math.Signbit(real(c)) {
		return part(imag(c)) + "j"
	}
	sign := "+"
	if math.Signbit(imag(c)) || math.IsNaN(imag(c)) {
		sign = ""
	}
	return "(" + part(real(c)) + sign + part(imag(c)) + "j)"
}

// reprStr is repr of a str: in single quotes, unless it contains only those.
func reprStr(s string) string {
	quote := byte('\'')
	if strings.IndexByte(s, '\'') >= 0 && strings.IndexByte(s, '"') < 0 {
		quote = '"'
	}
	b := make([]byte, 0, len(s)+2)
	b = append(b, quote)
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			switch {
			case isPrintable(r):
				b = append(b, s[i:i+n]...)
			case r < 0x100:
				b = fmt.Appendf(b, "\\x%02x", r)
			case r < 0x10000:
				b = fmt.Appendf(b, "\\u%04x", r)
			default:
				b = fmt.Appendf(b, "\\U%08x", r)
			}
			i += n
			continue
		}
		i++
		switch {
		case c == quote || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == '\t':
			b = append(b, '\\', 't')
		case c < ' ' || c == 0x7f:
			b = fmt.Appendf(b, "\\x%02x", c)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, quote))
}

func reprBytes(s string) string {
	quote := byte('\'')
	if strings.IndexByte(s, '\'') >= 0 && strings.IndexByte(s, '"') < 0 {
		quote = '"'
	}
	b := []byte{'b', quote}
	for i := range len(s) {
		switch c := s[i]; {
		case c == quote || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == '\t':
			b = append(b, '\\', 't')
		case c < ' ' || c >= 0x7f:
			b = fmt.Appendf(b, "\\x%02x", c)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, quote))
}

// isPrintable is Python's str.isprintable for one character.
func isPrintable(r rune) bool {
	if r < 0x7f {
		return r >= ' '
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S)
}
