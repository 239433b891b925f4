package openapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// comparison walks two documents in step and notes where they part.
type comparison struct {
	ours, theirs *described
	seen         map[[2]string]bool // pairs of components that were compared
	found        []string
}

// compareDocuments lists the differences of the operations that both have, and of our own ones the fact. Components are
// compared once, where they are used first, and named in the difference.
func compareDocuments(ours, theirs *described) []string {
	c := &comparison{ours: ours, theirs: theirs, seen: map[[2]string]bool{}}
	reference := theirs.operations()
	own := ours.operations()
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if other, ok := reference[name]; ok {
			c.operation(name, own[name], other)
		} else {
			c.note(name, "own operation")
		}
	}
	slices.Sort(c.found)
	return slices.Compact(c.found)
}

func (c *comparison) note(path, format string, args ...any) {
	c.found = append(c.found, path+": "+fmt.Sprintf(format, args...))
}

func (c *comparison) operation(name string, a, b describedOperation) {
	if a.Deprecated != b.Deprecated {
		c.note(name, "deprecated %t instead of %t", a.Deprecated, b.Deprecated)
	}
	type parameter struct {
		required bool
		schema   raw
	}
	collect := func(op describedOperation) map[string]parameter {
		out := map[string]parameter{}
		for _, p := range op.Parameters {
			out[p.In+" "+strings.ToLower(p.Name)] = parameter{p.Required, p.Schema}
		}
		return out
	}
	pa, pb := collect(a), collect(b)
	c.keys(name+" parameters", pa, pb)
	for key, p := range pa {
		if q, ok := pb[key]; ok {
			if p.required != q.required {
				c.note(name+" "+key, "required %t instead of %t", p.required, q.required)
			}
			// A parameter is absent, never null.
			x, y := c.ours.normalize(p.schema), c.theirs.normalize(q.schema)
			x.nullable, y.nullable = false, false
			c.normal(name+" "+key, x, y)
		}
	}
	switch {
	case (a.RequestBody == nil) != (b.RequestBody == nil):
		c.note(name, "body %t instead of %t", a.RequestBody != nil, b.RequestBody != nil)
	case a.RequestBody != nil:
		if a.RequestBody.Required != b.RequestBody.Required {
			c.note(name, "body required %t instead of %t", a.RequestBody.Required, b.RequestBody.Required)
		}
		c.content(name+" body", a.RequestBody.Content, b.RequestBody.Content)
	}
	c.keys(name+" responses", a.Responses, b.Responses)
	for status, r := range a.Responses {
		if other, ok := b.Responses[status]; ok {
			c.content(name+" "+status, r.Content, other.Content)
		}
	}
}

func (c *comparison) content(path string, a, b map[string]describedMedia) {
	c.keys(path+" content", a, b)
	for media, one := range a {
		if other, ok := b[media]; ok {
			c.schema(path, one.Schema, other.Schema)
		}
	}
}

func (c *comparison) schema(path string, a, b raw) {
	c.normal(path, c.ours.normalize(a), c.theirs.normalize(b))
}

func (c *comparison) normal(path string, a, b normal) {
	if a.isAny() && b.isAny() {
		return
	}
	if a.nullable != b.nullable {
		c.note(path, "nullable %t instead of %t", a.nullable, b.nullable)
	}
	if a.ref != "" && b.ref != "" && a.ref != b.ref {
		c.note(path, "schema %s instead of %s", a.ref, b.ref)
	}
	c.own(path, a, b)
	if b.ref != "" {
		pair := [2]string{a.ref, b.ref}
		if c.seen[pair] {
			return
		}
		c.seen[pair] = true
		path = b.ref
	}
	if len(a.variants) != len(b.variants) {
		c.note(path, "%d variants instead of %d", len(a.variants), len(b.variants))
		return
	}
	for i := range a.variants {
		c.normal(fmt.Sprintf("%s variant %d", path, i), a.variants[i], b.variants[i])
	}
	if !slices.Equal(a.required, b.required) {
		c.list(path+" required", a.required, b.required)
	}
	c.keys(path+" properties", a.properties, b.properties)
	for _, key := range slices.Sorted(maps.Keys(a.properties)) {
		if other, ok := b.properties[key]; ok {
			c.schema(path+"."+key, a.properties[key], other)
		}
	}
	switch {
	case (a.items == nil) != (b.items == nil):
		c.note(path, "items %t instead of %t", a.items != nil, b.items != nil)
	case a.items != nil:
		c.schema(path+"[]", a.items, b.items)
	}
	c.additional(path, a.additional, b.additional)
}

// own compares what a schema says of itself, and where it is used.
func (c *comparison) own(path string, a, b normal) {
	keys := map[string]bool{}
	for key := range a.facts {
		keys[key] = true
	}
	for key := range b.facts {
		keys[key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		x, y := a.facts[key], b.facts[key]
		if key == "enum" {
			where := path
			if b.ref != "" {
				where = b.ref
			}
			c.list(where+" enum", words(x), words(y))
			continue
		}
		if !reflect.DeepEqual(x, y) {
			c.note(path, "%s %s instead of %s", key, text(x), text(y))
		}
	}
}

func (c *comparison) additional(path string, a, b any) {
	x, schemaA := a.(raw)
	y, schemaB := b.(raw)
	switch {
	case schemaA && schemaB:
		c.schema(path+"{}", x, y)
	case !reflect.DeepEqual(a, b):
		c.note(path, "additionalProperties %s instead of %s", text(a), text(b))
	}
}

func (c *comparison) list(path string, a, b []string) {
	for _, one := range a {
		if !slices.Contains(b, one) {
			c.note(path, "adds %s", one)
		}
	}
	for _, one := range b {
		if !slices.Contains(a, one) {
			c.note(path, "lacks %s", one)
		}
	}
}

// keys notes the keys that only one of two maps has.
func (c *comparison) keys(path string, a, b any) {
	names := func(m any) []string {
		var out []string
		for _, key := range reflect.ValueOf(m).MapKeys() {
			out = append(out, key.String())
		}
		return out
	}
	c.list(path, names(a), names(b))
}

func words(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, one := range list {
		out = append(out, fmt.Sprint(one))
	}
	return out
}

func text(v any) string {
	if v == nil {
		return "none"
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(out.String())
}
