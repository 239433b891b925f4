// Package conformance checks payloads of events against the JSON Schema that a user pinned.
//
// One consumer checks the events of all workspaces, so a schema must not cost much for any payload. A check counts its steps:
// the schemas that it applies to values, and the names, digits and texts that it compares. It ends after as many steps as the size of the
// payload permits. The keywords whose cost it cannot count are refused when the schema is compiled. Within these keywords the result is that
// of the jsonschema library, which checks parameters.
package conformance

import (
	"fmt"
	"unsafe"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/orch-project/orch/services/orchestration/internal/parameters"
)

const (
	// minSteps is the number of steps for an empty payload. Each byte permits one more, up to maxSteps.
	minSteps, maxSteps = 500, 20_000
	// bytesPerStep is the number of bytes of a text that are counted or compared for one step.
	bytesPerStep = 64
	// instructionsPerStep is the number of instructions of a pattern that are compared with characters for one step.
	instructionsPerStep = 16
	// digitsPerStep is the number of digits of a number that are compared for one step. An exponent costs exponentSteps.
	digitsPerStep, exponentSteps = 8, 32
)

const (
	// maxSize bounds the memory of a compiled schema, in bytes.
	maxSize = 2 << 20
	// instructionSize is the memory of an instruction of a pattern. textFactor is the memory for a byte of the text.
	instructionSize, textFactor = 64, 4
)

// Schema is a compiled schema.
type Schema struct {
	root *jsonschema.Schema
	size int
}

// Size is the memory of the schema, in bytes; 0 for nil.
func (s *Schema) Size() int {
	if s == nil {
		return 0
	}
	return s.size
}

// Compile compiles a schema. It returns a *parameters.SchemaError for an invalid schema, and for one with an unsupported keyword.
func Compile(text []byte) (*Schema, error) {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	root, err := parameters.Compile(compiler, text)
	if err != nil {
		return nil, err
	}
	seen := map[*jsonschema.Schema]bool{}
	if keyword := unsupported(root, seen); keyword != "" {
		return nil, &parameters.SchemaError{Reason: fmt.Sprintf("The keyword %s is not supported for events.", keyword)}
	}
	size := len(text) * textFactor
	for one := range seen {
		size += int(unsafe.Sizeof(*one)) + instructions(one)*instructionSize
	}
	if size > maxSize {
		return nil, &parameters.SchemaError{Reason: "The schema takes more than 2 MiB of memory."}
	}
	return &Schema{root, size}, nil
}

// instructions counts the instructions of the patterns of a schema.
func instructions(s *jsonschema.Schema) (n int) {
	count := func(pattern jsonschema.Regexp) {
		if pattern, ok := pattern.(parameters.Pattern); ok {
			n += pattern.Instructions
		}
	}
	count(s.Pattern)
	for pattern := range s.PatternProperties {
		count(pattern)
	}
	return n
}

// unsupported returns a keyword of a schema, or of one below, that a check does not support; "" for none. It adds the schemas to those seen.
func unsupported(s *jsonschema.Schema, seen map[*jsonschema.Schema]bool) string {
	if s == nil || seen[s] {
		return ""
	}
	seen[s] = true
	switch {
	case s.RecursiveRef != nil:
		return "$recursiveRef"
	case s.DynamicRef != nil:
		return "$dynamicRef"
	case s.UnevaluatedProperties != nil:
		return "unevaluatedProperties"
	case s.UnevaluatedItems != nil:
		return "unevaluatedItems"
	case len(s.Dependencies) > 0:
		return "dependencies"
	}
	for _, below := range nested(s) {
		if keyword := unsupported(below, seen); keyword != "" {
			return keyword
		}
	}
	return ""
}

// nested returns the schemas that a schema has or refers to.
func nested(s *jsonschema.Schema) []*jsonschema.Schema {
	all := []*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.Contains, s.Items2020}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems} {
		all = append(all, list...)
	}
	for _, one := range s.Properties {
		all = append(all, one)
	}
	for _, one := range s.PatternProperties {
		all = append(all, one)
	}
	for _, one := range s.DependentSchemas {
		all = append(all, one)
	}
	for _, value := range []any{s.AdditionalProperties, s.AdditionalItems, s.Items} {
		switch value := value.(type) {
		case *jsonschema.Schema:
			all = append(all, value)
		case []*jsonschema.Schema:
			all = append(all, value...)
		}
	}
	return all
}
