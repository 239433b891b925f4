package jinja

import (
	"strings"
	"unicode/utf8"
)

// padFn returns the padding on the left of n characters in a field of width.
type padFn func(n, width int) int

func padLeft(n, width int) int { return width - n }
func padRight(int, int) int    { return 0 }
func padCenter(n, width int) int {
	m := width - n
	return m/2 + (m & width & 1)
}

func padMethod(name string, pad padFn) *method {
	return textMethod(name, "width fillchar= /", func(rt *state, s string, markup bool, a []Value) (Value, error) {
		width, err := intArg(a[0], 0)
		if err != nil {
			return nil, err
		}
		fill := " "
		if a[1] != nil {
			var ok bool
			if fill, ok = asText(a[1]); !ok {
				return nil, typeErr("The fill character must be a unicode character, not %s", a[1].typeName())
			}
			if markup {
				if fill, err = rt.escape(a[1]); err != nil {
					return nil, err
				}
			}
			if utf8.RuneCountInString(fill) != 1 {
				return nil, typeErr("The fill character must be exactly one character long")
			}
		}
		t, err := rt.pad(s, width, fill, pad)
		return strLike(t, markup), err
	})
}

// pad fills s up to width characters.
func (rt *state) pad(s string, width int, fill string, pad padFn) (string, error) {
	n := utf8.RuneCountInString(s)
	if n >= width {
		return s, nil
	}
	if err := rt.chargeTimes(width-n, len(fill)); err != nil {
		return "", err
	}
	if err := rt.charge(len(s)); err != nil {
		return "", err
	}
	left := pad(n, width)
	var b strings.Builder
	b.Grow(len(s) + (width-n)*len(fill))
	for range left {
		b.WriteString(fill)
	}
	b.WriteString(s)
	for range width - n - left {
		b.WriteString(fill)
	}
	return b.String(), nil
}

func strZfill(rt *state, s string, markup bool, a []Value) (Value, error) {
	width, err := intArg(a[0], 0)
	if err != nil {
		return nil, err
	}
	sign := ""
	if s != "" && (s[0] == '+' || s[0] == '-') {
		sign = s[:1]
	}
	t, err := rt.pad(s[len(sign):], width-len(sign), "0", padLeft)
	return strLike(sign+t, markup), err
}

func strExpandTabs(rt *state, s string, markup bool, a []Value) (Value, error) {
	size, err := intArg(a[0], 8)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	col := 0
	if err := rt.charge(2 * len(s)); err != nil {
		return nil, err
	}
	for _, r := range s {
		switch r {
		case '\t':
			if size > 0 {
				n := size - col%size
				if err := rt.charge(2 * n); err != nil {
					return nil, err
				}
				b.WriteString(strings.Repeat(" ", n))
				col += n
			}
		case '\n', '\r':
			b.WriteRune(r)
			col = 0
		default:
			b.WriteRune(r)
			col++
		}
	}
	return strLike(b.String(), markup), nil
}

func strEncode(rt *state, s string, _ bool, a []Value) (Value, error) {
	enc := "utf-8"
	for i, what := range []string{"encoding", "errors"} {
		if a[i] == nil {
			continue
		}
		t, ok := asText(a[i])
		if !ok {
			return nil, typeErr("encode() argument '%s' must be str, not %s", what, a[i].typeName())
		}
		if i == 0 {
			enc = strings.ReplaceAll(strings.ToLower(t), "_", "-")
		}
	}
	switch enc {
	case "utf-8", "utf8":
		return bytesValue(s), rt.charge(len(s))
	case "ascii", "us-ascii", "latin-1", "latin1", "iso-8859-1":
		limit := rune(0x80)
		if enc != "ascii" && enc != "us-ascii" {
			limit = 0x100
		}
		errors := "strict"
		if a[1] != nil {
			errors, _ = asText(a[1])
		}
		b := make([]byte, 0, len(s))
		for _, r := range s {
			switch {
			case r < limit:
				b = append(b, byte(r))
			case errors == "ignore":
			case errors == "replace":
				b = append(b, '?')
			default:
				return nil, valueErr("'%s' codec can't encode character", enc)
			}
		}
		return bytesValue(b), rt.charge(len(s))
	}
	return nil, otherErr("LookupError", "unknown encoding: %s", enc)
}

func strTranslate(rt *state, s string, markup bool, a []Value) (Value, error) {
	var b strings.Builder
	for _, r := range s {
		if err := rt.step(); err != nil {
			return nil, err
		}
		v, err := rt.subscript(a[0], intValue(r))
		switch {
		case isLookupErr(err) && !isClass(err, classType):
			b.WriteRune(r)
			continue
		case err != nil:
			return nil, err
		}
		switch v := v.(type) {
		case noneValue:
		case intValue:
			if v < 0 || v > utf8.MaxRune {
				return nil, valueErr("character mapping must be in range(0x110000)")
			}
			b.WriteRune(rune(v))
		default:
			t, ok := asText(v)
			if !ok {
				return nil, typeErr("character mapping must return integer, None or str")
			}
			if err := rt.charge(2 * len(t)); err != nil {
				return nil, err
			}
			b.WriteString(t)
		}
	}
	return strLike(b.String(), markup), rt.charge(len(s))
}

func strMakeTrans(rt *state, _ string, _ bool, a []Value) (Value, error) {
	out := newDict(0)
	if a[1] == nil {
		d, ok := a[0].(*dictValue)
		if !ok {
			return nil, typeErr("if you give only one argument to maketrans it must be a dict")
		}
		for i, k := range d.keys {
			if s, ok := asText(k); ok {
				if utf8.RuneCountInString(s) != 1 {
					return nil, valueErr("string keys in translate table must be of length 1")
				}
				r, _ := utf8.DecodeRuneInString(s)
				k = intValue(r)
			}
			if err := out.set(k, d.vals[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	x, err := textArg(a[0], "maketrans() argument 1")
	if err != nil {
		return nil, err
	}
	y, err := textArg(a[1], "maketrans() argument 2")
	if err != nil {
		return nil, err
	}
	from, to := []rune(x), []rune(y)
	if len(from) != len(to) {
		return nil, valueErr("the first two maketrans arguments must have equal length")
	}
	if err := rt.chargeTimes(len(from), sizeEntry); err != nil {
		return nil, err
	}
	for i, r := range from {
		_ = out.set(intValue(r), intValue(to[i]))
	}
	if a[2] != nil {
		z, err := textArg(a[2], "maketrans() argument 3")
		if err != nil {
			return nil, err
		}
		for _, r := range z {
			_ = out.set(intValue(r), None)
		}
	}
	return out, nil
}
