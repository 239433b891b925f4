// Package parameters makes the parameters of a run: JSON objects, kept as they were written wherever nothing changes.
//
//	deployment's ─┐
//	              ├─ Merge ─► Hydrator.Hydrate ─► Schema.Validate ─► the run's
//	request's ────┘
//
// Hydrating puts values where markers stand: objects whose "__orch_kind" (or, as other clients spell it,
// "__prefect_kind") says how the value is found: parsed from JSON text, rendered from a Jinja2 template, or read from a
// variable of the workspace.
package parameters

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// MaxBytes bounds a run's parameters, in bytes of JSON.
const MaxBytes = 512 << 10

// ErrTooLarge means that parameters take more than MaxBytes.
var ErrTooLarge = errors.New("parameters are larger than 512 KiB")

// member is one member of a JSON object, as it was written.
type member struct {
	key   string
	value json.RawMessage
}

// Merge lays one object over another, key by key. Keys keep their places; new ones follow. No bytes are no keys.
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

// members reads an object. No bytes are an object without members.
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

// text writes a string as JSON, without escapes that only HTML needs.
func text(s string) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return nil, fmt.Errorf("write a string of parameters: %w", err)
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}
