package jinja

import "unicode/utf8"

// iterator yields values one by one; nil is the end. Iterators are lazy as in Python: an error occurs when its item is read.
type iterator interface {
	next(rt *state) (Value, error)
}

// iterValue is an iterator as a value, such as a generator.
type iterValue struct {
	it   iterator
	name string
}

func (v *iterValue) typeName() string { return v.name }

func (v *iterValue) next(rt *state) (Value, error) { return v.it.next(rt) }

// iterFunc is a function as an iterator.
type iterFunc func(rt *state) (Value, error)

func (f iterFunc) next(rt *state) (Value, error) { return f(rt) }

type sliceIter struct {
	items []Value
	i     int
}

func (s *sliceIter) next(*state) (Value, error) {
	if s.i >= len(s.items) {
		return nil, nil
	}
	s.i++
	return s.items[s.i-1], nil
}

type textIter struct {
	text   string
	markup bool
}

func (t *textIter) next(*state) (Value, error) {
	if t.text == "" {
		return nil, nil
	}
	_, n := utf8.DecodeRuneInString(t.text)
	c := t.text[:n]
	t.text = t.text[n:]
	return strLike(c, t.markup), nil
}

// strLike makes a str or, when markup is set, a Markup.
func strLike(s string, markup bool) Value {
	if markup {
		return markupValue(s)
	}
	return strValue(s)
}

type rangeIter struct {
	r rangeValue
	i int64
}

func (r *rangeIter) next(*state) (Value, error) {
	if r.i >= r.r.length {
		return nil, nil
	}
	r.i++
	return intValue(r.r.start + (r.i-1)*r.r.step), nil
}

type viewIter struct {
	v *dictView
	i int
}

func (d *viewIter) next(*state) (Value, error) {
	if d.i >= len(d.v.d.keys) {
		return nil, nil
	}
	d.i++
	return d.v.at(d.i - 1), nil
}

// iterate is Python's iter(v).
func (rt *state) iterate(v Value) (iterator, error) {
	switch v := v.(type) {
	case *listValue:
		return &sliceIter{items: v.items}, nil
	case *tupleValue:
		return &sliceIter{items: v.items}, nil
	case *dictValue:
		return &sliceIter{items: v.keys}, nil
	case *dictView:
		return &viewIter{v: v}, nil
	case strValue:
		return &textIter{text: string(v)}, nil
	case markupValue:
		// Iterating a Markup yields plain characters, as str.__iter__ does.
		return &textIter{text: string(v)}, nil
	case rangeValue:
		return &rangeIter{r: v}, nil
	case *iterValue:
		return v, nil
	case *undefinedValue:
		if v.mode == Strict {
			return nil, v.fail()
		}
		return &sliceIter{}, nil
	case *loopValue:
		return iterFunc(func(rt *state) (Value, error) {
			x, err := v.next(rt)
			if x == nil || err != nil {
				return nil, err
			}
			return &tupleValue{items: []Value{x, v}}, nil
		}), nil
	case bytesValue:
		i := 0
		return iterFunc(func(*state) (Value, error) {
			if i >= len(v) {
				return nil, nil
			}
			i++
			return intValue(v[i-1]), nil
		}), nil
	}
	return nil, typeErr("'%s' object is not iterable", v.typeName())
}

// sized is Python's len(v) for values that know their length.
func sized(v Value) (int, bool) {
	switch v := v.(type) {
	case *listValue:
		return len(v.items), true
	case *tupleValue:
		return len(v.items), true
	case *dictValue:
		return len(v.keys), true
	case *dictView:
		return len(v.d.keys), true
	case strValue:
		return utf8.RuneCountInString(string(v)), true
	case markupValue:
		return utf8.RuneCountInString(string(v)), true
	case bytesValue:
		return len(v), true
	case rangeValue:
		return int(v.length), true
	case *undefinedValue:
		return 0, v.mode != Strict
	}
	return 0, false
}

// length is Python's len(v).
func (rt *state) length(v Value) (int, error) {
	if n, ok := sized(v); ok {
		return n, rt.work(n / 16)
	}
	switch v := v.(type) {
	case *loopValue:
		return v.len(rt)
	case *undefinedValue:
		return 0, v.fail()
	}
	return 0, typeErr("object of type '%s' has no len()", v.typeName())
}

// drain reads an iterator to the end.
func (rt *state) drain(it iterator) ([]Value, error) {
	var out []Value
	for {
		x, err := it.next(rt)
		if err != nil {
			return nil, err
		}
		if x == nil {
			return out, nil
		}
		if err := rt.step(); err != nil {
			return nil, err
		}
		if err := rt.charge(2 * sizeValue); err != nil {
			return nil, err
		}
		out = append(out, x)
	}
}

// toSlice returns the items of an iterable. The caller must not change the slice, which can belong to the value.
func (rt *state) toSlice(v Value) ([]Value, error) {
	if items, ok := Elements(v); ok {
		return items, rt.work(len(items))
	}
	if n, ok := sized(v); ok {
		if err := rt.work(n); err != nil {
			return nil, err
		}
		if err := rt.chargeTimes(n, 2*sizeValue); err != nil {
			return nil, err
		}
	}
	it, err := rt.iterate(v)
	if err != nil {
		return nil, err
	}
	return rt.drain(it)
}

// copySlice is like toSlice, but the caller owns the slice.
func (rt *state) copySlice(v Value) ([]Value, error) {
	items, err := rt.toSlice(v)
	if err != nil {
		return nil, err
	}
	if err := rt.chargeTimes(len(items), sizeValue); err != nil {
		return nil, err
	}
	return append(make([]Value, 0, len(items)), items...), nil
}

func generator(f iterFunc) Value { return &iterValue{it: f, name: "generator"} }
