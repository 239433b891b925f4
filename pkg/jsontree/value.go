package jsontree

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/orch-project/orch/pkg/jsontoken"
)

// Value is a JSON value: an *Object, a List, a string, a [json.Number], a bool, or nil for null.
type Value any

// List is a JSON array.
type List []Value

// Text returns v as JSON without white space.
func Text(v Value) []byte { return Append(nil, v) }

// Append appends v to dst as JSON without white space.
func Append(dst []byte, v Value) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case *Object:
		dst = append(dst, '{')
		for i, m := range v.Members() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(jsontoken.AppendString(dst, m.Key), ':')
			dst = Append(dst, m.Value)
		}
		return append(dst, '}')
	case List:
		dst = append(dst, '[')
		for i, item := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = Append(dst, item)
		}
		return append(dst, ']')
	case string:
		return jsontoken.AppendString(dst, v)
	case json.Number:
		return append(dst, v...)
	case bool:
		if v {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	}
	panic(fmt.Sprintf("jsontree: %T is not a JSON value", v))
}

// Copy returns a deep copy of v.
func Copy(v Value) Value {
	switch v := v.(type) {
	case *Object:
		c := v.Clone()
		for i := range c.members {
			c.members[i].Value = Copy(c.members[i].Value)
		}
		return c
	case List:
		c := make(List, len(v))
		for i, item := range v {
			c[i] = Copy(item)
		}
		return c
	}
	return v
}

// Equal reports whether two values are the same. It ignores the order of members, but compares numbers as written.
func Equal(a, b Value) bool {
	switch a := a.(type) {
	case *Object:
		b, ok := b.(*Object)
		if !ok || a.Len() != b.Len() {
			return false
		}
		for _, m := range a.Members() {
			other, ok := b.Get(m.Key)
			if !ok || !Equal(m.Value, other) {
				return false
			}
		}
		return true
	case List:
		b, ok := b.(List)
		return ok && slices.EqualFunc(a, b, Equal)
	}
	switch b.(type) {
	case *Object, List:
		return false
	}
	return a == b
}

// TypeName returns the JSON type of v for error messages, with its article: "a string", "an object".
func TypeName(v Value) string {
	switch v.(type) {
	case nil:
		return "null"
	case *Object:
		return "an object"
	case List:
		return "a list"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case bool:
		return "a boolean"
	}
	return fmt.Sprintf("%T", v)
}
