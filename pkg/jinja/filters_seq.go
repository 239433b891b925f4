package jinja

import (
	"math/rand/v2"
	"strings"
)

func filterList(rt *state, a []Value) (Value, error) {
	items, err := rt.copySlice(a[0])
	return &listValue{items}, err
}

func filterFirst(rt *state, a []Value) (Value, error) {
	it, err := rt.iterate(a[0])
	if err != nil {
		return nil, err
	}
	x, err := it.next(rt)
	if err == nil && x == nil {
		x = rt.undefinedHint("No first item, sequence was empty.")
	}
	return x, err
}

func filterLast(rt *state, a []Value) (Value, error) {
	items, err := rt.reversible(a[0])
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return rt.undefinedHint("No last item, sequence was empty."), nil
	}
	return items[len(items)-1], nil
}

// reversible returns the items of what Python's reversed() takes.
func (rt *state) reversible(v Value) ([]Value, error) {
	switch v := v.(type) {
	case *listValue, *tupleValue, strValue, markupValue, *dictValue, *dictView, rangeValue, bytesValue:
		return rt.toSlice(v)
	case *undefinedValue:
		if v.mode == Strict {
			return nil, v.fail()
		}
		return nil, nil
	}
	return nil, typeErr("'%s' object is not reversible", v.typeName())
}

func filterReverse(rt *state, a []Value) (Value, error) {
	if s, ok := asText(a[0]); ok {
		_, markup := a[0].(markupValue)
		t, err := rt.sliceText(s, sliceValue{None, None, intValue(-1)})
		return strLike(t, markup), err
	}
	items, err := rt.reversible(a[0])
	if err != nil {
		if !isClass(err, classType) {
			return nil, err
		}
		if items, err = rt.copySlice(a[0]); err != nil {
			if isClass(err, classType) {
				return nil, filterArgErr("argument must be iterable")
			}
			return nil, err
		}
		for i, j := 0, len(items)-1; i < j; i, j = i+1, j-1 {
			items[i], items[j] = items[j], items[i]
		}
		return &listValue{items}, nil
	}
	i := len(items)
	name := "list_reverseiterator"
	switch a[0].(type) {
	case *tupleValue:
		name = "reversed"
	case *dictValue:
		name = "dict_reversekeyiterator"
	case rangeValue:
		name = "range_iterator"
	}
	return &iterValue{name: name, it: iterFunc(func(*state) (Value, error) {
		if i == 0 {
			return nil, nil
		}
		i--
		return items[i], nil
	})}, nil
}

func filterRandom(rt *state, a []Value) (Value, error) {
	n, err := rt.length(a[0])
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return rt.undefinedHint("No random item, sequence was empty."), nil
	}
	return rt.subscript(a[0], intValue(rand.IntN(n)))
}

func filterItems(_ *state, a []Value) (Value, error) {
	switch v := a[0].(type) {
	case *undefinedValue:
		return generator(func(*state) (Value, error) { return nil, nil }), nil
	case *dictValue:
		it := &viewIter{v: &dictView{v, viewItems}}
		return generator(it.next), nil
	}
	return generator(func(*state) (Value, error) { return nil, typeErr("Can only get item pairs from a mapping.") }), nil
}

func filterBatch(rt *state, a []Value) (Value, error) {
	value, count, fill := a[0], a[1], a[2]
	var it iterator
	done := false
	var row []Value
	full := func() (bool, error) { return rt.equal(intValue(len(row)), count) }
	return generator(func(rt *state) (Value, error) {
		if done {
			return nil, nil
		}
		if it == nil {
			var err error
			if it, err = rt.iterate(value); err != nil {
				return nil, err
			}
		}
		for {
			x, err := it.next(rt)
			if err != nil {
				return nil, err
			}
			if x == nil {
				break
			}
			if err := rt.step(); err != nil {
				return nil, err
			}
			if err := rt.charge(2 * sizeValue); err != nil {
				return nil, err
			}
			ok, err := full()
			if err != nil {
				return nil, err
			}
			if ok {
				out := row
				row = []Value{x}
				return &listValue{out}, nil
			}
			row = append(row, x)
		}
		done = true
		if len(row) == 0 {
			return nil, nil
		}
		return rt.fillRow(row, count, fill)
	}), nil
}

// fillRow fills the last row of a batch.
func (rt *state) fillRow(row []Value, count, fill Value) (Value, error) {
	if given(fill) {
		less, err := rt.order(opLt, intValue(len(row)), count)
		if err != nil {
			return nil, err
		}
		if less {
			missing, err := rt.binary(tokSub, count, intValue(len(row)))
			if err != nil {
				return nil, err
			}
			more, _, err := rt.repeat(&listValue{[]Value{fill}}, missing)
			if err != nil {
				return nil, err
			}
			items, _ := Elements(more)
			row = append(row, items...)
		}
	}
	return &listValue{row}, nil
}

func filterSlice(_ *state, a []Value) (Value, error) {
	value, slices, fill := a[0], a[1], a[2]
	var items []Value
	var each, extra, n, i, offset int
	started := false
	return generator(func(rt *state) (Value, error) {
		if !started {
			started = true
			var err error
			if items, err = rt.toSlice(value); err != nil {
				return nil, err
			}
			k, ok := AsInt(slices)
			if !ok {
				// A float fails as the argument of range, anything else in the division.
				if _, err := rt.binary(tokFloorDiv, intValue(len(items)), slices); err != nil {
					return nil, err
				}
				if _, big := slices.(bigValue); big {
					return nil, budgetErr("too many slices")
				}
				return nil, typeErr("'%s' object cannot be interpreted as an integer", slices.typeName())
			}
			if k == 0 {
				return nil, zeroDivErr("integer division or modulo by zero")
			}
			n = int(k)
			each, extra = int(floorDiv(int64(len(items)), k)), len(items)%max(n, 1)
		}
		if i >= n {
			return nil, nil
		}
		if err := rt.step(); err != nil {
			return nil, err
		}
		start := offset + i*each
		if i < extra {
			offset++
		}
		end := offset + (i+1)*each
		if err := rt.chargeTimes(end-start+3, sizeValue); err != nil {
			return nil, err
		}
		row := append(make([]Value, 0, end-start+1), items[start:end]...)
		if given(fill) && i >= extra {
			row = append(row, fill)
		}
		i++
		return &listValue{row}, nil
	}), nil
}

func filterJoin(rt *state, a []Value) (Value, error) {
	d := emptyStr
	if a[1] != nil {
		d = a[1]
	}
	items, err := rt.toSlice(a[0])
	if err != nil {
		return nil, err
	}
	if given(a[2]) {
		get := attrGetter(a[2], nil)
		if err := rt.chargeTimes(len(items), sizeValue); err != nil {
			return nil, err
		}
		picked := make([]Value, len(items))
		for i, it := range items {
			if picked[i], err = get(rt, it); err != nil {
				return nil, err
			}
		}
		items = picked
	}
	markup := false
	if rt.autoescape {
		markup = hasHTML(d)
		for _, it := range items {
			markup = markup || hasHTML(it)
		}
	}
	text := func(v Value) (string, error) {
		if markup {
			return rt.escape(v)
		}
		return rt.str(v)
	}
	sep, err := text(d)
	if err != nil {
		return nil, err
	}
	joined, err := rt.join(len(items), sep, func(i int) (string, error) { return text(items[i]) })
	return strLike(joined, markup), err
}

// join joins n texts with sep. It charges for everything before it allocates.
func (rt *state) join(n int, sep string, text func(i int) (string, error)) (string, error) {
	if n == 0 {
		return "", nil
	}
	if err := rt.chargeTimes(n, sizeValue); err != nil {
		return "", err
	}
	parts := make([]string, n)
	for i := range parts {
		s, err := text(i)
		if err != nil {
			return "", err
		}
		if err := rt.charge(len(s) + len(sep)); err != nil {
			return "", err
		}
		parts[i] = s
	}
	return strings.Join(parts, sep), nil
}

func filterSum(rt *state, a []Value) (Value, error) {
	var sum Value = intValue(0)
	if a[2] != nil {
		sum = a[2]
	}
	var get getter
	if given(a[1]) {
		get = attrGetter(a[1], nil)
	}
	it, err := rt.iterate(a[0])
	if err != nil {
		return nil, err
	}
	if _, ok := asText(sum); ok {
		return nil, typeErr("sum() can't sum strings [use ''.join(seq) instead]")
	}
	for {
		x, err := it.next(rt)
		if err != nil {
			return nil, err
		}
		if x == nil {
			return sum, nil
		}
		if get != nil {
			if x, err = get(rt, x); err != nil {
				return nil, err
			}
		}
		if sum, err = rt.binary(tokAdd, sum, x); err != nil {
			return nil, err
		}
	}
}
