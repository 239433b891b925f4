// Package jsontree takes JSON apart and puts it together again, for those who change a part of it: members stay in
// their order, and numbers as they were written.
package jsontree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/orch-project/orch/pkg/jsontext"
)

// Value is any JSON value: an *Object, a List, a string, a [json.Number], a bool, or nil for null.
type Value any

// List is a JSON array.
type List []Value

// Object is a JSON object. The zero value is an empty one, and a nil one reads as such. It is not safe for concurrent use.
type Object struct {
	keys   []string
	values map[string]Value
}

// Len is the number of members.
func (o *Object) Len() int { return len(o.Keys()) }

// Keys are the names of the members in order. The caller must not change them; they are good until the next Delete.
func (o *Object) Keys() []string {
	if o == nil {
		return nil
	}
	return o.keys
}

// Get returns a member, and whether there is one.
func (o *Object) Get(key string) (Value, bool) {
	if o == nil {
		return nil, false
	}
	v, ok := o.values[key]
	return v, ok
}

// Object returns a member that is an object, or nil.
func (o *Object) Object(key string) *Object {
	v, _ := o.Get(key)
	object, _ := v.(*Object)
	return object
}

// Text returns a member that is a string, or "".
func (o *Object) Text(key string) string {
	v, _ := o.Get(key)
	text, _ := v.(string)
	return text
}

// Set adds a member at the end, or replaces the one of that name in its place.
func (o *Object) Set(key string, value Value) {
	if _, ok := o.values[key]; !ok {
		o.keys = append(o.keys, key)
	}
	if o.values == nil {
		o.values = map[string]Value{}
	}
	o.values[key] = value
}

// Delete takes a member out, if there is one.
func (o *Object) Delete(key string) {
	if _, ok := o.values[key]; !ok {
		return
	}
	delete(o.values, key)
	o.keys = slices.DeleteFunc(o.keys, func(k string) bool { return k == key })
}

// Clone returns an object with the same members; their values are shared.
func (o *Object) Clone() *Object {
	c := &Object{}
	for _, key := range o.keys {
		c.Set(key, o.values[key])
	}
	return c
}

// Copy returns a value that shares nothing with another.
func Copy(v Value) Value {
	switch v := v.(type) {
	case *Object:
		c := &Object{}
		for _, key := range v.Keys() {
			c.Set(key, Copy(v.values[key]))
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

// Parse reads one JSON value. Of members of one name the last one counts.
func Parse(text []byte) (Value, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := read(d)
	if err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("read JSON: more than one value")
	}
	return v, nil
}

// ParseObject reads a JSON object; no text at all is an empty one.
func ParseObject(text []byte) (*Object, error) {
	if len(text) == 0 {
		return &Object{}, nil
	}
	v, err := Parse(text)
	if err != nil {
		return nil, err
	}
	object, ok := v.(*Object)
	if !ok {
		return nil, fmt.Errorf("read JSON: no object")
	}
	return object, nil
}

func read(d *json.Decoder) (Value, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		object := &Object{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			value, err := read(d)
			if err != nil {
				return nil, err
			}
			object.Set(key.(string), value)
		}
		_, err := d.Token()
		return object, err
	case json.Delim('['):
		list := List{}
		for d.More() {
			value, err := read(d)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err := d.Token()
		return list, err
	}
	return token, nil
}

// Text writes a value without white space.
func Text(v Value) []byte { return Append(nil, v) }

// Append writes a value behind what is in dst.
func Append(dst []byte, v Value) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case *Object:
		dst = append(dst, '{')
		for i, key := range v.keys {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(jsontext.AppendString(dst, key), ':')
			dst = Append(dst, v.values[key])
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
		return jsontext.AppendString(dst, v)
	case json.Number:
		return append(dst, v...)
	case bool:
		if v {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	}
	panic(fmt.Sprintf("jsontree: a %T is no JSON value", v))
}

// Equal tells whether two values are the same. The order of members does not count; how a number is written does.
func Equal(a, b Value) bool {
	switch a := a.(type) {
	case *Object:
		b, ok := b.(*Object)
		if !ok || a.Len() != b.Len() {
			return false
		}
		for _, key := range a.keys {
			other, ok := b.Get(key)
			if !ok || !Equal(a.values[key], other) {
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
