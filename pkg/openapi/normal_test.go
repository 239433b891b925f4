package openapi_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// described is what both documents are read into.
type described struct {
	Tags       []struct{ Name, Description string }
	Paths      map[string]map[string]describedOperation
	Components struct{ Schemas map[string]raw }
}

type describedOperation struct {
	OperationID          string
	Summary, Description string
	Deprecated           bool
	Parameters           []struct {
		Name, In, Description string
		Required              bool
		Schema                raw
	}
	RequestBody *struct {
		Required bool
		Content  map[string]describedMedia
	}
	Responses map[string]struct {
		Content map[string]describedMedia
	}
}

type describedMedia struct {
	Schema  raw
	Example any
}

// operations maps "POST /flows/" to the operation.
func (d *described) operations() map[string]describedOperation {
	out := map[string]describedOperation{}
	for path, methods := range d.Paths {
		for method, op := range methods {
			out[strings.ToUpper(method)+" "+path] = op
		}
	}
	return out
}

// raw is a schema as it is written.
type raw map[string]any

// normal is a schema in one form: nullability apart, references looked through, variants flat.
type normal struct {
	ref      string // the component's name, if it is one
	nullable bool
	variants []normal // two or more, or none
	facts    map[string]any
	required []string
	// properties, items and additional are not normalised yet: schemas may hold themselves.
	properties map[string]raw
	items      raw
	additional any // nil, bool or raw
}

func (n normal) isAny() bool {
	return len(n.variants) == 0 && len(n.facts) == 0 && n.properties == nil && n.items == nil && n.additional == nil
}

// plain are the members that mean the same in 3.0 and 3.1 and are compared as they are.
var plain = []string{
	"type", "format", "pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "uniqueItems",
	"default", "deprecated",
}

func (d *described) normalize(s raw) normal {
	if ref, ok := s["$ref"].(string); ok {
		name := ref[strings.LastIndexByte(ref, '/')+1:]
		out := d.normalize(d.Components.Schemas[name])
		out.ref = name
		out.merge(without(s, "$ref"))
		return out
	}
	if all, ok := s["allOf"].([]any); ok && len(all) == 1 {
		out := d.normalize(asRaw(all[0]))
		out.merge(without(s, "allOf"))
		return out
	}
	out := normal{facts: map[string]any{}}
	for _, key := range []string{"anyOf", "oneOf"} {
		list, _ := s[key].([]any)
		for _, one := range list {
			variant := asRaw(one)
			if variant["type"] == "null" {
				out.nullable = true
				continue
			}
			n := d.normalize(variant)
			out.nullable = out.nullable || n.nullable
			if len(n.variants) > 0 {
				out.variants = append(out.variants, n.variants...)
			} else {
				out.variants = append(out.variants, n)
			}
		}
	}
	if len(out.variants) == 1 {
		only := out.variants[0]
		only.nullable = out.nullable
		out = only
	}
	out.merge(without(s, "anyOf", "oneOf"))
	return out
}

// merge adds the members that stand beside a reference or a union.
func (n *normal) merge(s raw) {
	facts := map[string]any{}
	maps.Copy(facts, n.facts)
	for _, key := range plain {
		if value, ok := s[key]; ok {
			facts[key] = value
		}
	}
	// 3.0 has the kind of the bound beside it, 3.1 the bound itself.
	switch limit := s["exclusiveMinimum"].(type) {
	case bool:
		facts["exclusiveMinimum"] = limit
	case float64:
		facts["exclusiveMinimum"], facts["minimum"] = true, limit
	}
	if constant, ok := s["const"]; ok {
		facts["enum"] = []any{constant}
	}
	if words, ok := s["enum"].([]any); ok {
		facts["enum"] = words
	}
	// Sizes of numbers are no fact of JSON.
	switch facts["format"] {
	case "int32", "int64", "float", "double":
		delete(facts, "format")
	}
	n.facts = facts
	if s["nullable"] == true {
		n.nullable = true
	}
	if list, ok := s["required"].([]any); ok {
		n.required = nil
		for _, one := range list {
			n.required = append(n.required, one.(string))
		}
		slices.Sort(n.required)
	}
	if properties, ok := s["properties"].(map[string]any); ok {
		n.properties = map[string]raw{}
		for key, value := range properties {
			n.properties[key] = asRaw(value)
		}
	}
	if items, ok := s["items"].(map[string]any); ok {
		n.items = items
	}
	// 3.0 cannot say which element of a tuple is where: any may be any.
	if prefix, ok := s["prefixItems"].([]any); ok {
		n.items = anyOf(prefix)
	}
	switch more := s["additionalProperties"].(type) {
	case bool:
		n.additional = more
	case map[string]any:
		n.additional = raw(more)
	}
}

func anyOf(list []any) raw {
	var distinct []any
	seen := map[string]bool{}
	for _, one := range list {
		if text, _ := json.Marshal(one); !seen[string(text)] {
			seen[string(text)] = true
			distinct = append(distinct, one)
		}
	}
	if len(distinct) == 1 {
		return asRaw(distinct[0])
	}
	return raw{"anyOf": distinct}
}

func asRaw(v any) raw {
	m, _ := v.(map[string]any)
	return m
}

func without(s raw, keys ...string) raw {
	out := raw{}
	for key, value := range s {
		if !slices.Contains(keys, key) {
			out[key] = value
		}
	}
	return out
}
