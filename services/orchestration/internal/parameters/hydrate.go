package parameters

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/vocabulary"
)

// Variable reads a variable of a workspace: its JSON value and whether it exists.
type Variable func(ctx context.Context, ws uuid.UUID, name string) (value []byte, found bool, err error)

// NoVariables is a workspace without variables.
func NoVariables(context.Context, uuid.UUID, string) ([]byte, bool, error) { return nil, false, nil }

// Hydrator replaces markers by values.
type Hydrator struct {
	variable  Variable
	templates *jinja.Engine
}

// maxRange bounds range() in a parameter template.
const maxRange = 100

// NewHydrator returns a hydrator that reads variables with the given function.
func NewHydrator(variable Variable) *Hydrator {
	return &Hydrator{
		variable:  variable,
		templates: jinja.New(jinja.Options{Undefined: jinja.Chainable, Budget: jinja.Budget{Range: maxRange}}),
	}
}

// HydrationError reports why a marker cannot be replaced; its text is for the client.
type HydrationError struct{ Reason string }

func (e *HydrationError) Error() string { return e.Reason }

func refuse(format string, args ...any) error { return &HydrationError{fmt.Sprintf(format, args...)} }

// Hydrate returns the parameters with markers replaced by values, or unchanged if they contain no marker. It omits a
// marker without a value together with its key. A *HydrationError reports invalid parameters.
func (h *Hydrator) Hydrate(ctx context.Context, ws uuid.UUID, params []byte) ([]byte, error) {
	value, err := hydration{h, ctx, ws, nil}.value(params)
	if err != nil {
		return nil, err
	}
	if len(value) == 0 {
		return []byte("{}"), nil
	}
	if value[0] != '{' {
		return nil, refuse("The parameters are no object")
	}
	return value, nil
}

// hydration is one pass over parameters. A nil value means that there is none.
type hydration struct {
	*Hydrator
	ctx context.Context
	ws  uuid.UUID
	// Form is nil if every marker must have a value.
	form *form
}

// mayHoldMarker is false for most parameters, which need no further inspection.
func mayHoldMarker(raw []byte) bool {
	return bytes.Contains(raw, []byte("_kind")) || bytes.Contains(raw, []byte(`\u`))
}

func (h hydration) value(raw []byte) ([]byte, error) {
	if !mayHoldMarker(raw) {
		return raw, nil
	}
	switch bytes.TrimLeft(raw, " \t\r\n")[0] {
	case '{':
		return h.object(raw)
	case '[':
		return h.list(raw)
	}
	return raw, nil
}

func (h hydration) object(raw []byte) ([]byte, error) {
	list, err := members(raw)
	if err != nil {
		return nil, err
	}
	if key, kind, marked := marker(list); marked {
		value, err := h.marked(key, kind, list)
		if h.form != nil {
			return h.form.filled(value, err)
		}
		return value, err
	}
	kept := list[:0]
	for _, m := range list {
		if m.value, err = h.value(m.value); err != nil {
			return nil, err
		}
		if m.value != nil {
			kept = append(kept, m)
		}
	}
	return object(kept)
}

func (h hydration) list(raw []byte) ([]byte, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, fmt.Errorf("read a list of parameters: %w", err)
	}
	out := []byte{'['}
	for _, item := range items {
		value, err := h.value(item)
		if err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, value...)
	}
	return append(out, ']'), nil
}

// marker reports whether an object is a marker, its key, and its kind; the kind null is "none".
func marker(list []member) (key, kind string, marked bool) {
	for _, key := range []string{vocabulary.Orch.KindKey(), vocabulary.Prefect.KindKey()} {
		raw := find(list, key)
		if raw == nil {
			continue
		}
		kind := "none"
		if json.Unmarshal(raw, &kind) != nil {
			kind = string(raw)
		}
		return key, kind, true
	}
	return "", "", false
}

func find(list []member, key string) json.RawMessage {
	for _, m := range list {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// marked returns the value of a marker. Forms omit the JSON value and the variable name until they are filled in; every
// other kind is complete.
func (h hydration) marked(key, kind string, list []member) ([]byte, error) {
	switch kind {
	case "none":
		value := find(list, "value")
		if value == nil {
			return nil, refuse("Missing 'value' key in %s object", key)
		}
		return h.value(value)
	case "json":
		value := find(list, "value")
		if value == nil {
			return nil, nil
		}
		value, err := h.value(value)
		var source string
		if err != nil || value == nil || bytes.Equal(bytes.TrimSpace(value), []byte("null")) || json.Unmarshal(value, &source) != nil {
			return value, err // The value is the parsed text.
		}
		return parse(source)
	case "jinja":
		if find(list, "template") == nil {
			return nil, refuse("Missing 'template' key in %s object", key)
		}
		source, ok, err := h.text(list, "template", "Invalid jinja: the template is no string")
		if err != nil || !ok {
			return nil, err
		}
		return h.render(source)
	case "workspace_variable":
		name, ok, err := h.text(list, "variable_name", "Invalid variable: the name is no string")
		if err != nil || !ok {
			return nil, err
		}
		value, found, err := h.variable(h.ctx, h.ws, name)
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, refuse("Variable '%s' not found in workspace.", name)
		}
		return value, nil
	}
	return nil, refuse("Unknown kind '%s' of a value", kind)
}

// text returns the string of a marker, which may be a marker itself. Without the key there is none.
func (h hydration) text(list []member, key, otherwise string) (value string, ok bool, err error) {
	raw := find(list, key)
	if raw == nil {
		return "", false, nil
	}
	hydrated, err := h.value(raw)
	if err != nil || hydrated == nil {
		return "", false, err
	}
	if bytes.Equal(bytes.TrimSpace(hydrated), []byte("null")) || json.Unmarshal(hydrated, &value) != nil {
		return "", false, refuse("%s", otherwise)
	}
	return value, true, nil
}

// parse parses JSON text and preserves the notation of numbers.
func parse(source string) ([]byte, error) {
	var value bytes.Buffer
	if err := json.Compact(&value, []byte(source)); err != nil {
		return nil, refuse("Invalid JSON: %s", syntax(source))
	}
	return value.Bytes(), nil
}

func (h hydration) render(source string) ([]byte, error) {
	template, err := h.templates.Cached(source)
	if err != nil {
		return nil, refuse("Invalid jinja: %s", err)
	}
	if h.form != nil {
		return h.form.blank("") // The result is not known yet.
	}
	rendered, err := template.Render(h.ctx, nil)
	if err != nil {
		return nil, refuse("Invalid jinja: %s", err)
	}
	return text(rendered)
}
