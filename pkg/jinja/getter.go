package jinja

import "strings"

// getter returns a value of an item, such as an attribute.
type getter func(rt *state, item Value) (Value, error)

// attrGetter returns the getter of an attribute argument: a path separated by dots, whose numeric parts are indices, or a
// single key. def, unless nil or None, replaces undefined.
func attrGetter(attr, def Value) getter {
	var path []Value
	if s, ok := asText(attr); ok {
		path = attrPath(s)
	} else if given(attr) {
		path = []Value{attr}
	}
	return func(rt *state, item Value) (Value, error) {
		if err := rt.step(); err != nil {
			return nil, err
		}
		for _, p := range path {
			var err error
			if item, err = rt.getitem(item, p); err != nil {
				return nil, err
			}
			if given(def) && isUndefined(item) {
				item = def
			}
		}
		return item, nil
	}
}

func attrPath(s string) []Value {
	parts := strings.Split(s, ".")
	path := make([]Value, len(parts))
	for i, p := range parts {
		path[i] = strValue(p)
		if allRunes(p, isDigitRune) {
			if n, err := parseInt(p, 10); err == nil {
				path[i] = normBig(n)
			}
		}
	}
	return path
}

// folded wraps a getter to compare strings without case.
func folded(get getter, caseSensitive bool) getter {
	if caseSensitive {
		return get
	}
	return func(rt *state, item Value) (Value, error) {
		v, err := get(rt, item)
		if err != nil {
			return nil, err
		}
		return rt.ignoreCase(v)
	}
}

func (rt *state) ignoreCase(v Value) (Value, error) {
	switch s := v.(type) {
	case strValue:
		return strValue(lower(string(s))), rt.charge(len(s))
	case markupValue:
		return markupValue(lower(string(s))), rt.charge(len(s))
	}
	return v, nil
}

// multiGetter returns the getter of attributes separated by commas. Its value is a list.
func multiGetter(attr Value, caseSensitive bool) getter {
	var gets []getter
	s, _ := asText(attr)
	for _, part := range strings.Split(s, ",") {
		gets = append(gets, folded(attrGetter(strValue(part), nil), caseSensitive))
	}
	return func(rt *state, item Value) (Value, error) {
		if err := rt.chargeTimes(len(gets), 4*sizeValue); err != nil {
			return nil, err
		}
		vals := make([]Value, len(gets))
		for i, g := range gets {
			var err error
			if vals[i], err = g(rt, item); err != nil {
				return nil, err
			}
		}
		return &listValue{vals}, nil
	}
}
