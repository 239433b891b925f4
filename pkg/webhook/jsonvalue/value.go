// Package jsonvalue reads JSON that users and foreign systems wrote, and writes it so that every other part of Orch can
// read it.
//
// Reading is strict in grammar, so that nothing is guessed, and lenient where JSON leaves a choice: of equal keys the
// last wins, and half of a surrogate pair becomes U+FFFD. Numbers stay as they were written. Written text has neither
// duplicates nor anything else that the strict decoder of the API refuses.
package jsonvalue

import "github.com/orch-project/orch/pkg/jsontext"

// Kind is the type of a value.
type Kind uint8

// The types. The zero Value is null.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// Value is a JSON value. It is immutable once made, so values may share parts.
type Value struct {
	kind    Kind
	text    string // String: the text. Number, Bool: the literal.
	items   []Value
	members []Member
}

// Member is one entry of an object.
type Member struct {
	Key   string
	Value Value
}

// Text makes a string.
func Text(s string) Value { return Value{kind: String, text: s} }

// Flag makes a boolean.
func Flag(b bool) Value {
	if b {
		return Value{kind: Bool, text: "true"}
	}
	return Value{kind: Bool, text: "false"}
}

// List makes an array; it keeps items.
func List(items ...Value) Value { return Value{kind: Array, items: items} }

// Map makes an object; it keeps members, whose keys must differ.
func Map(members ...Member) Value { return Value{kind: Object, members: members} }

// Kind is the type of v.
func (v Value) Kind() Kind { return v.kind }

// Str is the text of a string or the literal of a number; empty otherwise.
func (v Value) Str() string {
	if v.kind == String || v.kind == Number {
		return v.text
	}
	return ""
}

// True tells whether v is the boolean true.
func (v Value) True() bool { return v.kind == Bool && v.text == "true" }

// Items are the elements of an array. They must not be changed.
func (v Value) Items() []Value { return v.items }

// Members are the entries of an object in their order. They must not be changed.
func (v Value) Members() []Member { return v.members }

// Get returns the entry of an object.
func (v Value) Get(key string) (Value, bool) {
	for _, m := range v.members {
		if m.Key == key {
			return m.Value, true
		}
	}
	return Value{}, false
}

// Append writes v as JSON without white space.
func (v Value) Append(dst []byte) []byte {
	switch v.kind {
	case Bool, Number:
		return append(dst, v.text...)
	case String:
		return jsontext.AppendString(dst, v.text)
	case Array:
		dst = append(dst, '[')
		for i, item := range v.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = item.Append(dst)
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i, m := range v.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(jsontext.AppendString(dst, m.Key), ':')
			dst = m.Value.Append(dst)
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

// String names the type as messages do.
func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}[k]
}
