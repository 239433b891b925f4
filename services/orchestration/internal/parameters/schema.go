package parameters

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// ErrSchema reports an invalid JSON schema.
var ErrSchema = errors.New("the schema is not valid")

// SchemaError reports why a schema is invalid; its text is for the client. It matches ErrSchema.
type SchemaError struct{ Reason string }

func (e *SchemaError) Error() string { return ErrSchema.Error() + ": " + e.Reason }

func (*SchemaError) Unwrap() error { return ErrSchema }

// errCircular reports a schema that references itself without descending into the value.
var errCircular = &SchemaError{"Unable to validate schema with circular references."}

// InvalidError reports a parameter that violates the schema; its text is for the client.
type InvalidError struct {
	// Path is the location of the value, such as "a.b[0]"; empty for the parameters as a whole.
	Path string
	// Reason describes the violation.
	Reason string
}

func (e *InvalidError) Error() string {
	if e.Path == "" {
		return "Validation failed. Failure reason: " + e.Reason
	}
	return fmt.Sprintf("Validation failed for field '%s'. Failure reason: %s", e.Path, e.Reason)
}

// Schema is a compiled JSON schema of parameters.
type Schema struct {
	compiled *jsonschema.Schema
	work     complexity
}

// location is the base of a schema's own references; nothing is loaded from elsewhere.
const location = "urn:orch:parameters"

// CompileSchema compiles a schema. It returns a *SchemaError for an invalid schema and for external references. A
// partial schema requires no properties at any level, for parameters that others complete.
func CompileSchema(raw []byte, partial bool) (*Schema, error) {
	doc, err := document(raw)
	if err != nil {
		return nil, err
	}
	if root, ok := doc.(map[string]any); ok {
		if err := check(root); err != nil {
			return nil, err
		}
		nullable(root)
		for _, key := range []string{"definitions", "$defs"} {
			definitions, _ := root[key].(map[string]any)
			for _, one := range definitions {
				if definition, ok := one.(map[string]any); ok {
					nullable(definition)
				}
			}
		}
		if partial {
			withoutRequired(root)
		}
	}
	compiled, err := compile(jsonschema.NewCompiler(), doc)
	if err != nil {
		return nil, err
	}
	work, err := measure(doc)
	if err != nil {
		return nil, err
	}
	return &Schema{compiled, work}, nil
}

// Compile compiles a schema as it is written. It returns a *SchemaError for an invalid schema and for external references.
func Compile(c *jsonschema.Compiler, raw []byte) (*jsonschema.Schema, error) {
	doc, err := document(raw)
	if err != nil {
		return nil, err
	}
	return compile(c, doc)
}

// document parses a schema within the bounds of the compiler.
func document(raw []byte) (any, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, &SchemaError{err.Error()}
	}
	if nodes, depth := size(doc); nodes > maxWork || depth > maxSchemaDepth || objects(doc) > maxObjects {
		return nil, errTooComplex
	}
	return doc, nil
}

// check validates a schema in its original notation.
func check(root map[string]any) error {
	_, err := compile(jsonschema.NewCompiler(), root)
	return err
}

func compile(c *jsonschema.Compiler, doc any) (*jsonschema.Schema, error) {
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(patternEngine())
	if err := c.AddResource(location, doc); err != nil {
		return nil, &SchemaError{err.Error()}
	}
	compiled, err := c.Compile(location)
	if err != nil {
		return nil, explainSchema(err, doc)
	}
	return compiled, nil
}

// withoutRequired removes the required lists from a schema, but not a property named "required".
func withoutRequired(schema any) {
	switch schema := schema.(type) {
	case map[string]any:
		if _, list := schema["required"].([]any); list {
			delete(schema, "required")
		}
		for _, below := range schema {
			withoutRequired(below)
		}
	case []any:
		for _, below := range schema {
			withoutRequired(below)
		}
	}
}

// noLoader prevents a schema from reading files and URLs.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is outside of the schema", url)
}

// nullable permits null for optional properties without a default, because clients send null for unset ones.
func nullable(schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for name, one := range properties {
		property, ok := one.(map[string]any)
		if !ok {
			continue
		}
		nullable(property)
		if items, ok := property["items"].(map[string]any); ok {
			nullable(items)
		}
		_, hasDefault := property["default"]
		if hasDefault || slices.Contains(required, any(name)) {
			continue
		}
		properties[name] = map[string]any{"anyOf": []any{map[string]any{"type": "null"}, property}}
	}
}

// Validate returns an *InvalidError for invalid parameters, and a *SchemaError if validation is impossible.
func (s *Schema) Validate(params []byte) error {
	if len(params) == 0 {
		params = []byte("{}")
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(params))
	if err != nil {
		return fmt.Errorf("read parameters: %w", err)
	}
	if !s.work.allows(value) {
		return errTooComplex
	}
	err = s.compiled.Validate(value)
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	if circular(invalid) {
		return errCircular
	}
	return explain(invalid, value)
}

// circular reports whether validation returned to the same place.
func circular(e *jsonschema.ValidationError) bool {
	_, cycle := e.ErrorKind.(*kind.RefCycle)
	return cycle || slices.ContainsFunc(e.Causes, circular)
}

// WithoutMarkers omits the parameters that contain markers, whose values are not known yet.
func WithoutMarkers(params []byte) ([]byte, error) {
	if !mayHoldMarker(params) {
		return params, nil
	}
	list, err := members(params)
	if err != nil {
		return nil, err
	}
	return object(slices.DeleteFunc(list, func(m member) bool { return holdsMarker(m.value) }))
}

func holdsMarker(raw json.RawMessage) bool {
	if !mayHoldMarker(raw) {
		return false
	}
	switch bytes.TrimLeft(raw, " \t\r\n")[0] {
	case '{':
		list, err := members(raw)
		if err != nil {
			return false
		}
		_, _, marked := marker(list)
		return marked || slices.ContainsFunc(list, func(m member) bool { return holdsMarker(m.value) })
	case '[':
		var items []json.RawMessage
		return json.Unmarshal(raw, &items) == nil && slices.ContainsFunc(items, holdsMarker)
	}
	return false
}
