// Package parameters builds the parameters of runs: JSON objects whose unchanged parts keep their notation.
//
//	deployment's ─┐
//	              ├─ Merge ─► Hydrator.Hydrate ─► Schema.Validate ─► the run's
//	request's ────┘
//
// Hydrating replaces markers by values. A marker is an object whose "__orch_kind" (or "__prefect_kind") defines the
// source: JSON text, a Jinja2 template, or a variable of the workspace.
package parameters

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// MaxBytes is the maximum size of a run's parameters in bytes of JSON.
const MaxBytes = 512 << 10

// ErrTooLarge reports parameters above MaxBytes.
var ErrTooLarge = errors.New("parameters are larger than 512 KiB")

// member is one member of a JSON object in its original notation.
type member struct {
	key   string
	value json.RawMessage
}

// Merge overlays one object on another by key. Keys keep their positions; new ones follow. Empty input means an empty
// object.
func Merge(base, over []byte) ([]byte, error) {
	if len(over) == 0 {
		return base, nil
	}
	above, err := members(over)
	if err != nil || len(above) == 0 {
		return base, err
	}
	below, err := members(base)
	if err != nil {
		return nil, err
	}
	if len(below) == 0 {
		return over, nil
	}
	for _, m := range above {
		at := slices.IndexFunc(below, func(b member) bool { return b.key == m.key })
		if at < 0 {
			below = append(below, m)
			continue
		}
		below[at].value = m.value
	}
	return object(below)
}

// Without returns the members of one object whose keys another one lacks. Empty input means an empty object.
func Without(base, over []byte) ([]byte, error) {
	above, err := members(over)
	if err != nil || len(above) == 0 {
		return base, err
	}
	below, err := members(base)
	if err != nil {
		return nil, err
	}
	return object(slices.DeleteFunc(below, func(m member) bool { return find(above, m.key) != nil }))
}

// members parses an object. Empty input means an object without members.
func members(raw []byte) ([]member, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("read an object of parameters: %w", err)
	}
	var list []member
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("read an object of parameters: %w", err)
		}
		name, ok := key.(string)
		if !ok {
			return nil, fmt.Errorf("read an object of parameters: %v is no key", key)
		}
		m := member{key: name}
		if err := d.Decode(&m.value); err != nil {
			return nil, fmt.Errorf("read the parameter %q: %w", name, err)
		}
		list = append(list, m)
	}
	return list, nil
}

// object writes an object.
func object(list []member) ([]byte, error) {
	out := []byte{'{'}
	for i, m := range list {
		if i > 0 {
			out = append(out, ',')
		}
		key, err := text(m.key)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, key...), ':'), m.value...)
	}
	return append(out, '}'), nil
}

// text writes a string as JSON, without HTML escapes.
func text(s string) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return nil, fmt.Errorf("write a string of parameters: %w", err)
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}
