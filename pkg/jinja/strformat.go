package jinja

import (
	"strings"
	"unicode/utf8"
)

// strFormatMethod is str.format in the sandbox: it looks up attributes and items as a template does.
func strFormatMethod(rt *state, recv Value, args callArgs) (Value, error) {
	kwargs := newDict(len(args.kw))
	for _, k := range args.kw {
		kwargs.setStr(k.name, k.val)
	}
	return formatString(rt, recv, args.pos, kwargs)
}

func strFormatMapMethod(rt *state, recv Value, args callArgs) (Value, error) {
	if len(args.kw) > 0 {
		return nil, typeErr("format_map() takes no keyword arguments")
	}
	if len(args.pos) != 1 {
		return nil, typeErr("format_map() takes exactly one argument (%d given)", len(args.pos))
	}
	return formatString(rt, recv, nil, args.pos[0])
}

func formatString(rt *state, recv Value, args []Value, kwargs Value) (Value, error) {
	s, _ := asText(recv)
	_, markup := recv.(markupValue)
	f := &strFormatter{rt: rt, args: args, kwargs: kwargs, markup: markup}
	out, err := f.format(s, 2)
	return strLike(out, markup), err
}

type strFormatter struct {
	rt     *state
	args   []Value
	kwargs Value
	markup bool
	auto   int  // next automatic index
	manual bool // a numbered field was seen
}

func (f *strFormatter) format(s string, depth int) (string, error) {
	if depth < 0 {
		return "", valueErr("Max string recursion exceeded")
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		c := s[i]
		if c != '{' && c != '}' {
			j := strings.IndexAny(s[i:], "{}")
			if j < 0 {
				j = len(s) - i
			}
			if err := f.rt.charge(2 * j); err != nil {
				return "", err
			}
			b.WriteString(s[i : i+j])
			i += j
			continue
		}
		if i+1 < len(s) && s[i+1] == c {
			b.WriteByte(c)
			i += 2
			continue
		}
		if c == '}' {
			return "", valueErr("Single '}' encountered in format string")
		}
		end, err := fieldEnd(s, i+1)
		if err != nil {
			return "", err
		}
		if err := f.rt.step(); err != nil {
			return "", err
		}
		text, err := f.field(s[i+1:end], depth)
		if err != nil {
			return "", err
		}
		if err := f.rt.charge(2 * len(text)); err != nil {
			return "", err
		}
		b.WriteString(text)
		i = end + 1
	}
	return b.String(), nil
}

// fieldEnd returns the position of the brace that closes the field at i.
func fieldEnd(s string, i int) (int, error) {
	if i >= len(s) {
		return 0, valueErr("Single '{' encountered in format string")
	}
	depth := 1
	bracket := false
	for ; i < len(s); i++ {
		switch s[i] {
		case '[':
			bracket = true
		case ']':
			bracket = false
		case '{':
			if !bracket {
				depth++
			}
		case '}':
			if !bracket {
				if depth--; depth == 0 {
					return i, nil
				}
			}
		case ':', '!':
			// Brackets have no meaning after the name of the field.
		}
	}
	return 0, valueErr("expected '}' before end of string")
}

// field formats one replacement field without its braces.
func (f *strFormatter) field(s string, depth int) (string, error) {
	name, conv, spec, err := cutField(s)
	if err != nil {
		return "", err
	}
	obj, err := f.lookup(name)
	if err != nil {
		return "", err
	}
	switch conv {
	case 0:
	case 's':
		t, err := f.rt.str(obj)
		if err != nil {
			return "", err
		}
		obj = strValue(t)
	case 'r', 'a':
		t, err := f.rt.repr(obj)
		if err != nil {
			return "", err
		}
		if conv == 'a' {
			t = asciiOnly(t)
		}
		obj = strValue(t)
	default:
		return "", valueErr("Unknown conversion specifier %c", conv)
	}
	if spec, err = f.format(spec, depth-1); err != nil {
		return "", err
	}
	if !f.markup {
		return f.rt.format(obj, spec)
	}
	if m, ok := obj.(markupValue); ok {
		if spec != "" {
			return "", valueErr("Unsupported format specification for Markup.")
		}
		return string(m), nil
	}
	t, err := f.rt.format(obj, spec)
	if err != nil {
		return "", err
	}
	return f.rt.escapeText(t)
}

// cutField splits a field into name, conversion and format specification.
func cutField(s string) (name string, conv rune, spec string, err error) {
	i := 0
	bracket := false
scan:
	for ; i < len(s); i++ {
		switch s[i] {
		case '[':
			bracket = true
		case ']':
			bracket = false
		case '{':
			return "", 0, "", valueErr("unexpected '{' in field name")
		case ':', '!':
			if !bracket {
				break scan
			}
		}
	}
	name, rest := s[:i], s[i:]
	if rest == "" {
		return name, 0, "", nil
	}
	if rest[0] == '!' {
		if len(rest) == 1 {
			return "", 0, "", valueErr("end of string while looking for conversion specifier")
		}
		r, n := utf8.DecodeRuneInString(rest[1:])
		conv = r
		rest = rest[1+n:]
		if rest != "" && rest[0] != ':' {
			return "", 0, "", valueErr("expected ':' after conversion specifier")
		}
	}
	return name, conv, strings.TrimPrefix(rest, ":"), nil
}

func (f *strFormatter) lookup(name string) (Value, error) {
	switch {
	case name == "":
		if f.manual {
			return nil, valueErr("cannot switch from manual field specification to automatic field numbering")
		}
		f.auto++
		return f.positional(f.auto - 1)
	case allRunes(name, isDigitRune):
		if f.auto > 0 {
			return nil, valueErr("cannot switch from manual field specification to automatic field numbering")
		}
		f.manual = true
	}
	first := name
	rest := ""
	if i := strings.IndexAny(name, ".["); i >= 0 {
		first, rest = name[:i], name[i:]
	}
	var obj Value
	var err error
	if n, ok := decimalIndex(first); ok {
		obj, err = f.positional(n)
	} else {
		obj, err = f.rt.subscript(f.kwargs, strValue(first))
	}
	for err == nil && rest != "" {
		obj, rest, err = f.step(obj, rest)
	}
	return obj, err
}

// step follows one attribute or item of a field's name.
func (f *strFormatter) step(obj Value, rest string) (Value, string, error) {
	if rest[0] == '.' {
		rest = rest[1:]
		i := strings.IndexAny(rest, ".[")
		if i < 0 {
			i = len(rest)
		}
		if i == 0 {
			return nil, "", valueErr("Empty attribute in format string")
		}
		v, err := f.rt.getattr(obj, rest[:i])
		return v, rest[i:], err
	}
	i := strings.IndexByte(rest, ']')
	if i < 0 {
		return nil, "", valueErr("Missing ']' in format string")
	}
	key := rest[1:i]
	if key == "" {
		return nil, "", valueErr("Empty attribute in format string")
	}
	rest = rest[i+1:]
	if rest != "" && rest[0] != '.' && rest[0] != '[' {
		return nil, "", valueErr("Only '.' or '[' may follow ']' in format field specifier")
	}
	var k Value = strValue(key)
	if n, ok := decimalIndex(key); ok {
		k = intValue(n)
	}
	v, err := f.rt.getitem(obj, k)
	return v, rest, err
}

func (f *strFormatter) positional(i int) (Value, error) {
	if i >= len(f.args) {
		return nil, indexErr("tuple index out of range")
	}
	return f.args[i], nil
}

func decimalIndex(s string) (int, bool) {
	n := 0
	for i := range len(s) {
		if !isDecimal(s[i]) {
			return 0, false
		}
		if n = n*10 + int(s[i]-'0'); n > maxIndex/16 {
			return 0, false
		}
	}
	return n, s != ""
}
