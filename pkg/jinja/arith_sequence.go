package jinja

import "strings"

// addSequences joins two strings, lists or tuples. ok is false if a is none of these.
func (rt *state) addSequences(a, b Value) (Value, bool, error) {
	switch x := a.(type) {
	case strValue:
		switch y := b.(type) {
		case strValue:
			if err := rt.charge(len(x) + len(y)); err != nil {
				return nil, true, err
			}
			return x + y, true, nil
		case markupValue:
			s, err := rt.escapeText(string(x))
			if err == nil {
				err = rt.charge(len(s) + len(y))
			}
			return markupValue(s) + y, true, err
		case *undefinedValue:
			return nil, true, y.fail()
		}
		return nil, true, typeErr(`can only concatenate str (not "%s") to str`, b.typeName())
	case markupValue:
		if !hasHTML(b) {
			if _, ok := b.(strValue); !ok {
				if u, ok := b.(*undefinedValue); ok {
					return nil, true, u.fail()
				}
				return nil, true, unsupported(tokAdd, a, b)
			}
		}
		s, err := rt.escape(b)
		if err == nil {
			err = rt.charge(len(x) + len(s))
		}
		return x + markupValue(s), true, err
	case *listValue:
		y, ok := b.(*listValue)
		if !ok {
			if u, ok := b.(*undefinedValue); ok {
				return nil, true, u.fail()
			}
			return nil, true, typeErr(`can only concatenate list (not "%s") to list`, b.typeName())
		}
		items, err := rt.joinItems(x.items, y.items)
		return &listValue{items}, true, err
	case *tupleValue:
		y, ok := b.(*tupleValue)
		if !ok {
			if u, ok := b.(*undefinedValue); ok {
				return nil, true, u.fail()
			}
			return nil, true, typeErr(`can only concatenate tuple (not "%s") to tuple`, b.typeName())
		}
		items, err := rt.joinItems(x.items, y.items)
		return newTuple(items), true, err
	case bytesValue:
		if y, ok := b.(bytesValue); ok {
			return x + y, true, rt.charge(len(x) + len(y))
		}
	}
	return nil, false, nil
}

func (rt *state) joinItems(a, b []Value) ([]Value, error) {
	n := len(a) + len(b)
	if err := rt.work(n / 8); err != nil {
		return nil, err
	}
	if err := rt.chargeTimes(n, sizeValue); err != nil {
		return nil, err
	}
	out := make([]Value, 0, n)
	return append(append(out, a...), b...), nil
}

// repeat multiplies a sequence by a number. ok is false if neither operand is a sequence.
func (rt *state) repeat(a, b Value) (Value, bool, error) {
	seq, times := a, b
	if !isSequence(a) {
		if !isSequence(b) {
			return nil, false, nil
		}
		seq, times = b, a
	}
	if u, ok := times.(*undefinedValue); ok {
		return nil, true, u.fail()
	}
	n, ok := AsInt(times)
	if !ok {
		if t, isBig := times.(bigValue); isBig {
			if t.n.Sign() > 0 {
				if l, _ := sized(seq); l > 0 {
					return nil, true, budgetErr("the template exceeds its budget of %d bytes", rt.budget.Bytes)
				}
			}
			n = 0
		} else {
			return nil, true, typeErr("can't multiply sequence by non-int of type '%s'", times.typeName())
		}
	}
	n = max(n, 0)
	switch s := seq.(type) {
	case strValue:
		t, err := rt.repeatText(string(s), n)
		return strValue(t), true, err
	case markupValue:
		t, err := rt.repeatText(string(s), n)
		return markupValue(t), true, err
	case bytesValue:
		t, err := rt.repeatText(string(s), n)
		return bytesValue(t), true, err
	case *listValue:
		items, err := rt.repeatItems(s.items, n)
		return &listValue{items}, true, err
	case *tupleValue:
		items, err := rt.repeatItems(s.items, n)
		return newTuple(items), true, err
	}
	return nil, false, nil
}

func isSequence(v Value) bool {
	switch v.(type) {
	case strValue, markupValue, bytesValue, *listValue, *tupleValue:
		return true
	}
	return false
}

func (rt *state) repeatText(s string, n int64) (string, error) {
	if s == "" || n == 0 {
		return "", nil
	}
	if err := rt.chargeTimes(int(min(n, unlimited)), len(s)); err != nil {
		return "", err
	}
	return strings.Repeat(s, int(n)), nil
}

func (rt *state) repeatItems(items []Value, n int64) ([]Value, error) {
	if len(items) == 0 || n == 0 {
		return nil, nil
	}
	if err := rt.chargeTimes(int(min(n, unlimited)), sizeValue*len(items)); err != nil {
		return nil, err
	}
	out := make([]Value, 0, int(n)*len(items))
	for range n {
		out = append(out, items...)
	}
	return out, rt.work(len(out) / 8)
}
