package jinja

import (
	"cmp"
	"math"
	"math/big"
	"strings"
)

var cmpNames = [...]string{opEq: "==", opNe: "!=", opLt: "<", opLe: "<=", opGt: ">", opGe: ">=", opIn: "in", opNotIn: "not in"}

// compare applies a comparison operator.
func (rt *state) compare(op cmpOp, a, b Value) (bool, error) {
	if err := rt.step(); err != nil {
		return false, err
	}
	switch op {
	case opEq:
		return rt.equal(a, b)
	case opNe:
		ok, err := rt.equal(a, b)
		return !ok, err
	case opIn:
		return rt.contains(b, a)
	case opNotIn:
		ok, err := rt.contains(b, a)
		return !ok, err
	}
	return rt.order(op, a, b)
}

// equal is a == b.
func (rt *state) equal(a, b Value) (bool, error) {
	switch x := a.(type) {
	case strValue, markupValue:
		s, _ := asText(x)
		if t, ok := asText(b); ok {
			return s == t, rt.work(min(len(s), len(t)) / 256)
		}
	case intValue, boolValue, bigValue, floatValue, complexValue:
		if isNumber(b) {
			return equalNumbers(a, b), nil
		}
	case *listValue:
		if y, ok := b.(*listValue); ok {
			return rt.equalItems(x.items, y.items)
		}
	case *tupleValue:
		if y, ok := b.(*tupleValue); ok {
			return rt.equalItems(x.items, y.items)
		}
	case *dictValue:
		if y, ok := b.(*dictValue); ok {
			return rt.equalDicts(x, y)
		}
	case rangeValue:
		if y, ok := b.(rangeValue); ok {
			return x.length == y.length && (x.length == 0 || x.start == y.start && (x.length == 1 || x.step == y.step)), nil
		}
	case *undefinedValue:
		if x.mode == Strict {
			return false, x.fail()
		}
		y, ok := b.(*undefinedValue)
		return ok && x.mode == y.mode, nil
	case *dictView:
		if y, ok := b.(*dictView); ok && x.kind != viewValues && y.kind != viewValues {
			return rt.equalViews(x, y)
		}
		return a == b, nil
	case *boundMethod:
		y, ok := b.(*boundMethod)
		return ok && (x == y || x.name == y.name && x.kind == y.kind && identical(x.recv, y.recv)), nil
	default:
		if a == b {
			return true, nil
		}
	}
	if u, ok := b.(*undefinedValue); ok && u.mode == Strict {
		return false, u.fail()
	}
	return false, nil
}

func (rt *state) equalItems(a, b []Value) (bool, error) {
	if len(a) != len(b) {
		return false, nil
	}
	if len(a) > 0 && &a[0] == &b[0] {
		return true, nil
	}
	if err := rt.nest(); err != nil {
		return false, err
	}
	defer rt.unnest()
	for i := range a {
		if err := rt.step(); err != nil {
			return false, err
		}
		if ok, err := rt.same(a[i], b[i]); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// same compares items of containers: an item equals itself.
func (rt *state) same(a, b Value) (bool, error) {
	switch a.(type) {
	case strValue, markupValue: // Strings have no identity beyond their text, and comparing them costs steps.
	default:
		if identical(a, b) {
			return true, nil
		}
	}
	return rt.equal(a, b)
}

func (rt *state) equalDicts(a, b *dictValue) (bool, error) {
	if len(a.keys) != len(b.keys) {
		return false, nil
	}
	if err := rt.nest(); err != nil {
		return false, err
	}
	defer rt.unnest()
	for i, k := range a.keys {
		if err := rt.step(); err != nil {
			return false, err
		}
		v, ok, err := rt.lookup(b, k)
		if !ok || err != nil {
			return false, err
		}
		if ok, err := rt.same(a.vals[i], v); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (rt *state) equalViews(a, b *dictView) (bool, error) {
	if len(a.d.keys) != len(b.d.keys) {
		return false, nil
	}
	for i := range a.d.keys {
		if ok, err := rt.contains(b, a.at(i)); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// identical is Python's "is", as far as values of this package have an identity.
func identical(a, b Value) bool {
	switch x := a.(type) {
	case complexValue, rangeValue, sliceValue:
		return false
	case bigValue:
		y, ok := b.(bigValue)
		return ok && x.n == y.n
	case floatValue:
		y, ok := b.(floatValue)
		return ok && math.Float64bits(float64(x)) == math.Float64bits(float64(y))
	}
	switch b.(type) {
	case complexValue, rangeValue, sliceValue, bigValue:
		return false
	}
	return a == b
}

func equalNumbers(a, b Value) bool {
	if x, ok := a.(intValue); ok {
		if y, ok := b.(intValue); ok {
			return x == y
		}
	}
	ca, aIs := a.(complexValue)
	cb, bIs := b.(complexValue)
	switch {
	case aIs && bIs:
		return ca == cb
	case aIs:
		return imag(ca) == 0 && equalNumbers(floatValue(real(ca)), b)
	case bIs:
		return imag(cb) == 0 && equalNumbers(a, floatValue(real(cb)))
	}
	n, ok := compareNumbers(a, b)
	return ok && n == 0
}

// compareNumbers orders two real numbers exactly. ok is false for NaN.
func compareNumbers(a, b Value) (n int, ok bool) {
	if x, isInt := a.(intValue); isInt {
		if y, isInt := b.(intValue); isInt {
			return cmp.Compare(x, y), true
		}
	}
	if f, g, pair := floatPair(a, b); pair && math.Abs(f) < 1<<53 && math.Abs(g) < 1<<53 {
		return cmp.Compare(f, g), true
	}
	x, xi := toBig(a)
	y, yi := toBig(b)
	switch {
	case xi && yi:
		return x.Cmp(y), true
	case !xi && !yi:
		f, g := float64(a.(floatValue)), float64(b.(floatValue))
		switch {
		case f < g:
			return -1, true
		case f > g:
			return 1, true
		}
		return 0, f == g
	case yi:
		n, ok := compareNumbers(b, a)
		return -n, ok
	}
	g := float64(b.(floatValue))
	switch {
	case math.IsNaN(g):
		return 0, false
	case math.IsInf(g, 1):
		return -1, true
	case math.IsInf(g, -1):
		return 1, true
	}
	return new(big.Float).SetInt(x).Cmp(big.NewFloat(g)), true
}

// order applies <, <=, > or >=.
func (rt *state) order(op cmpOp, a, b Value) (bool, error) {
	if u, ok := a.(*undefinedValue); ok {
		return false, u.fail()
	}
	if u, ok := b.(*undefinedValue); ok {
		return false, u.fail()
	}
	n := 0
	decided := false
	switch x := a.(type) {
	case strValue, markupValue:
		s, _ := asText(x)
		if t, ok := asText(b); ok {
			if err := rt.work(min(len(s), len(t)) / 256); err != nil {
				return false, err
			}
			n, decided = strings.Compare(s, t), true
		}
	case bytesValue:
		if y, ok := b.(bytesValue); ok {
			if err := rt.work(min(len(x), len(y)) / 256); err != nil {
				return false, err
			}
			n, decided = strings.Compare(string(x), string(y)), true
		}
	case intValue, boolValue, bigValue, floatValue:
		if _, isComplex := b.(complexValue); isNumber(b) && !isComplex {
			var ok bool
			if n, ok = compareNumbers(a, b); !ok {
				return false, nil // not a number
			}
			decided = true
		}
	case *listValue:
		if y, ok := b.(*listValue); ok {
			return rt.orderItems(op, x.items, y.items)
		}
	case *tupleValue:
		if y, ok := b.(*tupleValue); ok {
			return rt.orderItems(op, x.items, y.items)
		}
	case *dictView:
		if y, ok := b.(*dictView); ok && x.kind != viewValues && y.kind != viewValues {
			return rt.orderViews(op, x, y)
		}
	}
	if !decided {
		return false, typeErr("'%s' not supported between instances of '%s' and '%s'", cmpNames[op], a.typeName(), b.typeName())
	}
	return ordered(op, n), nil
}

func ordered(op cmpOp, n int) bool {
	switch op {
	case opLt:
		return n < 0
	case opLe:
		return n <= 0
	case opGt:
		return n > 0
	}
	return n >= 0
}

func (rt *state) orderItems(op cmpOp, a, b []Value) (bool, error) {
	if err := rt.nest(); err != nil {
		return false, err
	}
	defer rt.unnest()
	for i := range min(len(a), len(b)) {
		if err := rt.step(); err != nil {
			return false, err
		}
		ok, err := rt.same(a[i], b[i])
		if err != nil {
			return false, err
		}
		if !ok {
			return rt.order(op, a[i], b[i])
		}
	}
	return ordered(op, len(a)-len(b)), nil
}

// orderViews compares dict views as sets: < is a proper subset.
func (rt *state) orderViews(op cmpOp, a, b *dictView) (bool, error) {
	if op == opGt || op == opGe {
		a, b = b, a
	}
	strict := op == opLt || op == opGt
	if n, m := len(a.d.keys), len(b.d.keys); n > m || strict && n == m {
		return false, nil
	}
	for i := range a.d.keys {
		if ok, err := rt.contains(b, a.at(i)); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// contains is x in c.
func (rt *state) contains(c, x Value) (bool, error) {
	switch c := c.(type) {
	case strValue, markupValue:
		s, _ := asText(c)
		t, ok := asText(x)
		if !ok {
			return false, typeErr("'in <string>' requires string as left operand, not %s", x.typeName())
		}
		return strings.Contains(s, t), rt.work(len(s) / 64)
	case *dictValue:
		_, ok, err := rt.lookup(c, x)
		return ok, err
	case *dictView:
		if c.kind == viewKeys {
			_, ok, err := rt.lookup(c.d, x)
			return ok, err
		}
		if c.kind == viewItems {
			t, ok := x.(*tupleValue)
			if !ok || len(t.items) != 2 {
				return false, nil
			}
			v, ok, err := rt.lookup(c.d, t.items[0])
			if !ok || err != nil {
				return false, err
			}
			return rt.same(v, t.items[1])
		}
	case rangeValue:
		if n, ok := x.(intValue); ok {
			i := int64(n) - c.start
			return c.length > 0 && i%c.step == 0 && i/c.step >= 0 && i/c.step < c.length, nil
		}
	}
	it, err := rt.iterate(c)
	if err != nil {
		if isClass(err, classType) {
			return false, typeErr("argument of type '%s' is not iterable", c.typeName())
		}
		return false, err
	}
	for {
		v, err := it.next(rt)
		if v == nil || err != nil {
			return false, err
		}
		if err := rt.step(); err != nil {
			return false, err
		}
		if ok, err := rt.same(v, x); ok || err != nil {
			return ok, err
		}
	}
}
