package openapi

import (
	"bytes"
	"encoding/json"
)

// ordered is a JSON object whose members stay in the order in which they were first set.
type ordered[V any] struct {
	keys   []string
	values map[string]V
}

func newOrdered[V any]() *ordered[V] { return &ordered[V]{values: map[string]V{}} }

func (o *ordered[V]) set(key string, value V) {
	if _, there := o.values[key]; !there {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

func (o *ordered[V]) get(key string) (V, bool) {
	v, ok := o.values[key]
	return v, ok
}

// MarshalJSON writes the members in order.
func (o *ordered[V]) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	out.WriteByte('{')
	for i, key := range o.keys {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := enc.Encode(key); err != nil {
			return nil, err
		}
		out.WriteByte(':')
		if err := enc.Encode(o.values[key]); err != nil {
			return nil, err
		}
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}
