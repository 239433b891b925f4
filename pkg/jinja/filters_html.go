package jinja

import "strings"

func filterURLEncode(rt *state, a []Value) (Value, error) {
	switch v := a[0].(type) {
	case strValue, markupValue:
		s, _ := asText(v)
		t, err := rt.urlQuote(s, false)
		return strValue(t), err
	case *dictValue:
		return rt.urlQuery(&dictView{v, viewItems})
	}
	if ok, err := testIterable(rt, a); err != nil {
		return nil, err
	} else if ok == valTrue {
		return rt.urlQuery(a[0])
	}
	s, err := rt.str(a[0])
	if err != nil {
		return nil, err
	}
	t, err := rt.urlQuote(s, false)
	return strValue(t), err
}

// urlQuery joins pairs as a query string.
func (rt *state) urlQuery(pairs Value) (Value, error) {
	it, err := rt.iterate(pairs)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for n := 0; ; n++ {
		x, err := it.next(rt)
		if err != nil {
			return nil, err
		}
		if x == nil {
			return strValue(b.String()), nil
		}
		pair, ok := Elements(x)
		if !ok {
			if pair, err = rt.unpackItems(x, 2); err != nil {
				return nil, err
			}
		}
		if len(pair) != 2 {
			return nil, unpackErr(len(pair), 2)
		}
		if n > 0 {
			b.WriteByte('&')
		}
		for i, v := range pair {
			s, err := rt.quoted(v)
			if err != nil {
				return nil, err
			}
			if i > 0 {
				b.WriteByte('=')
			}
			if err := rt.charge(len(s)); err != nil {
				return nil, err
			}
			b.WriteString(s)
		}
	}
}

func (rt *state) quoted(v Value) (string, error) {
	if b, ok := v.(bytesValue); ok {
		return rt.urlQuote(string(b), true)
	}
	s, err := rt.str(v)
	if err != nil {
		return "", err
	}
	return rt.urlQuote(s, true)
}

// urlQuote percent-encodes; in a query string slashes are encoded too and blanks become "+".
func (rt *state) urlQuote(s string, query bool) (string, error) {
	if err := rt.charge(3 * len(s)); err != nil {
		return "", err
	}
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', isDecimal(c), strings.IndexByte("_.-~", c) >= 0, c == '/' && !query:
			b.WriteByte(c)
		case c == ' ' && query:
			b.WriteByte('+')
		default:
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
	return b.String(), nil
}

func filterXMLAttr(rt *state, a []Value) (Value, error) {
	autospace, err := rt.flag(a[1], true)
	if err != nil {
		return nil, err
	}
	d, ok := a[0].(*dictValue)
	if !ok {
		if u, isU := a[0].(*undefinedValue); isU {
			return nil, u.fail()
		}
		return nil, attributeErr("'%s' object has no attribute 'items'", a[0].typeName())
	}
	var b strings.Builder
	for i, k := range d.keys {
		v := d.vals[i]
		if v == None || isUndefined(v) {
			continue
		}
		name, ok := asText(k)
		if !ok {
			return nil, typeErr("expected string or bytes-like object, got '%s'", k.typeName())
		}
		if strings.ContainsAny(name, " \t\n\r\f\v/>=") {
			return nil, valueErr("Invalid character in attribute name: %s", reprStr(name))
		}
		key, err := rt.escape(k)
		if err != nil {
			return nil, err
		}
		val, err := rt.escape(v)
		if err != nil {
			return nil, err
		}
		if err := rt.charge(2 * (len(key) + len(val) + 4)); err != nil {
			return nil, err
		}
		if b.Len() > 0 || autospace {
			b.WriteByte(' ')
		}
		b.WriteString(key + `="` + val + `"`)
	}
	return strLike(b.String(), rt.autoescape), nil
}
