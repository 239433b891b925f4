package jinja

import (
	"strings"
	"unicode/utf8"
)

func filterCenter(rt *state, a []Value) (Value, error) {
	s, markup, err := rt.softStr(a[0])
	if err != nil {
		return nil, err
	}
	width, err := intArg(a[1], 80)
	if err != nil {
		return nil, err
	}
	t, err := rt.pad(s, width, " ", padCenter)
	return strLike(t, markup), err
}

func filterTrim(rt *state, a []Value) (Value, error) {
	s, markup, err := rt.softStr(a[0])
	if err != nil {
		return nil, err
	}
	if !given(a[1]) {
		return strLike(strip(s, nil, true, true), markup), nil
	}
	set, ok := asText(a[1])
	if !ok {
		return nil, typeErr("strip arg must be None or str")
	}
	return strLike(strip(s, &set, true, true), markup), nil
}

func filterString(rt *state, a []Value) (Value, error) {
	s, markup, err := rt.softStr(a[0])
	return strLike(s, markup), err
}

func filterSafe(rt *state, a []Value) (Value, error) { return rt.toMarkup(a[0]) }

func filterEscape(rt *state, a []Value) (Value, error) {
	s, err := rt.escape(a[0])
	return markupValue(s), err
}

func filterForceEscape(rt *state, a []Value) (Value, error) {
	s, err := rt.str(a[0])
	if err != nil {
		return nil, err
	}
	s, err = rt.escapeText(s)
	return markupValue(s), err
}

func filterStripTags(rt *state, a []Value) (Value, error) {
	s, err := rt.str(a[0])
	if err != nil {
		return nil, err
	}
	s, err = rt.stripTags(s)
	return strValue(s), err
}

func filterReplace(rt *state, a []Value) (Value, error) {
	n := -1
	var err error
	if given(a[3]) {
		if n, err = intArg(a[3], -1); err != nil {
			return nil, err
		}
	}
	markup := false
	var s, old, repl string
	if rt.autoescape {
		if markup = hasHTML(a[1]) || hasHTML(a[2]) && !hasHTML(a[0]); markup {
			s, err = rt.escape(a[0])
		} else {
			s, markup, err = rt.softStr(a[0])
		}
	} else {
		s, err = rt.str(a[0])
	}
	if err != nil {
		return nil, err
	}
	if old, err = rt.str(a[1]); err != nil {
		return nil, err
	}
	if repl, err = rt.str(a[2]); err != nil {
		return nil, err
	}
	if markup {
		if repl, err = rt.escape(a[2]); err != nil {
			return nil, err
		}
	}
	t, err := rt.replace(s, old, repl, n)
	return strLike(t, markup), err
}

func filterFormat(rt *state, args callArgs) (Value, error) {
	pos, kw := args.pos[1:], args.kw
	if len(pos) > 0 && len(kw) > 0 {
		return nil, filterArgErr("can't handle positional and keyword arguments at the same time")
	}
	s, markup, err := rt.softStr(args.pos[0])
	if err != nil {
		return nil, err
	}
	if len(kw) > 0 {
		d := newDict(len(kw))
		for _, k := range kw {
			d.setStr(k.name, k.val)
		}
		return rt.percentFormat(s, d, markup)
	}
	return rt.percentFormat(s, newTuple(pos), markup)
}

// titleWords is Jinja's title filter: words start after white space, hyphens and opening brackets.
func titleWords(s string) string {
	var b strings.Builder
	start := true
	for i, r := range s {
		switch {
		case isSpace(r) || strings.ContainsRune("-({[<", r):
			b.WriteRune(r)
			start = true
		case start:
			b.WriteString(upper(string(r)))
			start = false
		default:
			b.WriteString(lowerRune(s, i, r))
		}
	}
	return b.String()
}

// indentText is the indentation of lines: a text, or a number of spaces.
func (rt *state) indentText(v Value) (string, error) {
	switch v := v.(type) {
	case nil:
		return "    ", nil
	case strValue:
		return string(v), nil
	case markupValue:
		return string(v), nil
	case *undefinedValue:
		return "", v.fail()
	}
	n, err := intArg(v, 4)
	if err != nil {
		return "", typeErr("can't multiply sequence by non-int of type '%s'", v.typeName())
	}
	n = max(n, 0)
	if err := rt.charge(n); err != nil {
		return "", err
	}
	return strings.Repeat(" ", n), nil
}

func filterIndent(rt *state, a []Value) (Value, error) {
	indent, err := rt.indentText(a[1])
	if err != nil {
		return nil, err
	}
	first, err := rt.flag(a[2], false)
	if err != nil {
		return nil, err
	}
	blank, err := rt.flag(a[3], false)
	if err != nil {
		return nil, err
	}
	s, ok := asText(a[0])
	if !ok {
		if u, isU := a[0].(*undefinedValue); isU {
			return nil, u.fail()
		}
		return nil, typeErr("unsupported operand type(s) for +=: '%s' and 'str'", a[0].typeName())
	}
	_, markup := a[0].(markupValue)
	lines := splitLines(s+"\n", false)
	if err := rt.charge(len(s) + 32*len(lines)); err != nil {
		return nil, err
	}
	if err := rt.work(len(lines)); err != nil {
		return nil, err
	}
	if err := rt.chargeTimes(len(lines)+1, len(indent)+1); err != nil {
		return nil, err
	}
	var b strings.Builder
	if first {
		b.WriteString(indent)
	}
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
			if blank || l != "" {
				b.WriteString(indent)
			}
		}
		b.WriteString(l)
	}
	return strLike(b.String(), markup), nil
}

func filterTruncate(rt *state, a []Value) (Value, error) {
	end, endLen := "...", -1
	if a[3] != nil {
		var ok bool
		if end, ok = asText(a[3]); !ok {
			n, err := rt.length(a[3])
			if err != nil {
				return nil, err
			}
			endLen = n
		}
	}
	wrongEnd := endLen >= 0
	if !wrongEnd {
		endLen = utf8.RuneCountInString(end)
	}
	length, err := rt.comparable(a[1], 255, ">=")
	if err != nil {
		return nil, err
	}
	leeway := 5.0
	if given(a[4]) {
		if leeway, err = rt.comparable(a[4], 5, ">="); err != nil {
			return nil, err
		}
	}
	if length < float64(endLen) {
		return nil, otherErr("AssertionError", "expected length >= %d, got %v", endLen, length)
	}
	if leeway < 0 {
		return nil, otherErr("AssertionError", "expected leeway >= 0, got %v", leeway)
	}
	n, err := rt.length(a[0])
	if err != nil {
		return nil, err
	}
	if float64(n) <= length+leeway {
		return a[0], nil
	}
	if _, ok := a[1].(floatValue); ok {
		return nil, typeErr("slice indices must be integers or None or have an __index__ method")
	}
	s, ok := asText(a[0])
	if !ok {
		return nil, typeErr("a %s cannot be truncated", a[0].typeName())
	}
	_, markup := a[0].(markupValue)
	kill, err := rt.flag(a[2], false)
	if err != nil {
		return nil, err
	}
	if err := rt.charge(len(s) + len(end)); err != nil {
		return nil, err
	}
	cut := s[:runeOffset(s, int(length)-endLen)]
	if !kill {
		if i := strings.LastIndexByte(cut, ' '); i >= 0 {
			cut = cut[:i]
		}
	}
	if wrongEnd {
		return rt.binary(tokAdd, strValue(cut), a[3])
	}
	if markup && a[3] != nil {
		if end, err = rt.escape(a[3]); err != nil {
			return nil, err
		}
	}
	return strLike(cut+end, markup), nil
}

// comparable returns a number for a comparison with another; op names the operator in errors.
func (rt *state) comparable(v Value, def float64, op string) (float64, error) {
	if v == nil {
		return def, nil
	}
	switch v := v.(type) {
	case *undefinedValue:
		return 0, v.fail()
	case intValue, boolValue, bigValue, floatValue:
		return toFloat(v)
	}
	return 0, typeErr("'%s' not supported between instances of '%s' and 'int'", op, v.typeName())
}

func filterWordCount(rt *state, a []Value) (Value, error) {
	s, _, err := rt.softStr(a[0])
	if err != nil {
		return nil, err
	}
	n, in := 0, false
	for _, r := range s {
		w := r == '_' || isAlnumRune(r)
		if w && !in {
			n++
		}
		in = w
	}
	return intValue(n), rt.work(len(s) / 16)
}
