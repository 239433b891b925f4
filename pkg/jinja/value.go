package jinja

import (
	"math/big"
)

// Value is a value of a template: one of Python's types. Only this package creates values. They are immutable once a template
// can see them, so several renderings can share a value.
type Value interface {
	// typeName is Python's name of the value's type.
	typeName() string
}

type (
	noneValue   struct{}
	boolValue   bool
	intValue    int64
	bigValue    struct{ n *big.Int } // always outside int64
	floatValue  float64
	strValue    string
	markupValue string
	bytesValue  string
	listValue   struct{ items []Value }
	// tupleValue is a tuple, or a named tuple if fields is set.
	tupleValue struct {
		items  []Value
		fields []string
	}
	rangeValue   struct{ start, stop, step, length int64 }
	complexValue complex128
)

func (noneValue) typeName() string    { return "NoneType" }
func (boolValue) typeName() string    { return "bool" }
func (intValue) typeName() string     { return "int" }
func (bigValue) typeName() string     { return "int" }
func (floatValue) typeName() string   { return "float" }
func (strValue) typeName() string     { return "str" }
func (markupValue) typeName() string  { return "Markup" }
func (bytesValue) typeName() string   { return "bytes" }
func (*listValue) typeName() string   { return "list" }
func (rangeValue) typeName() string   { return "range" }
func (complexValue) typeName() string { return "complex" }
func (t *tupleValue) typeName() string {
	if t.fields != nil {
		return "_GroupTuple"
	}
	return "tuple"
}

// None is Python's None.
var None Value = noneValue{}

var (
	emptyStr   Value = strValue("")
	emptyTuple Value = &tupleValue{}
	valTrue    Value = boolValue(true)
	valFalse   Value = boolValue(false)
)

// Bool returns a bool.
func Bool(b bool) Value {
	if b {
		return valTrue
	}
	return valFalse
}

// Int returns an int.
func Int(n int64) Value { return intValue(n) }

// BigInt returns an int of any size. It copies n.
func BigInt(n *big.Int) Value {
	if n.IsInt64() {
		return intValue(n.Int64())
	}
	return bigValue{new(big.Int).Set(n)}
}

// normBig returns n as an int value. It owns n.
func normBig(n *big.Int) Value {
	if n.IsInt64() {
		return intValue(n.Int64())
	}
	return bigValue{n}
}

// Float returns a float.
func Float(f float64) Value { return floatValue(f) }

// Str returns a str.
func Str(s string) Value { return strValue(s) }

// List returns a list that owns items.
func List(items ...Value) Value { return &listValue{items} }

func newTuple(items []Value) Value {
	if len(items) == 0 {
		return emptyTuple
	}
	return &tupleValue{items: items}
}

// asText returns the text of a str or Markup.
func asText(v Value) (string, bool) {
	switch v := v.(type) {
	case strValue:
		return string(v), true
	case markupValue:
		return string(v), true
	}
	return "", false
}

// AsString returns the text of a str value.
func AsString(v Value) (string, bool) { return asText(v) }

// AsInt returns the number of an int that fits int64, or of a bool.
func AsInt(v Value) (int64, bool) {
	switch v := v.(type) {
	case intValue:
		return int64(v), true
	case boolValue:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// truthy is Python's bool(v).
func truthy(rt *state, v Value) (bool, error) {
	switch v := v.(type) {
	case noneValue:
		return false, nil
	case boolValue:
		return bool(v), nil
	case intValue:
		return v != 0, nil
	case bigValue:
		return true, nil
	case floatValue:
		return v != 0, nil
	case complexValue:
		return v != 0, nil
	case strValue:
		return v != "", nil
	case markupValue:
		return v != "", nil
	case bytesValue:
		return v != "", nil
	case *listValue:
		return len(v.items) > 0, nil
	case *tupleValue:
		return len(v.items) > 0, nil
	case *dictValue:
		return len(v.keys) > 0, nil
	case *dictView:
		return len(v.d.keys) > 0, nil
	case rangeValue:
		return v.length > 0, nil
	case *undefinedValue:
		if v.mode == Strict {
			return false, v.fail()
		}
		return false, nil
	case *loopValue:
		n, err := v.len(rt)
		return n > 0, err
	}
	return true, nil
}
