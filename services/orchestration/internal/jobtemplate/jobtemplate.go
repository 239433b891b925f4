// Package jobtemplate checks the base job templates of work pools, and the job variables that are set over their defaults.
//
// A template is a JSON object of two parts: job_configuration, in which placeholders such as {{ image }} stand, and
// variables, the JSON schema of what they stand for. The variables of a run are layered:
//
//	defaults of the schema ◄── deployment's job_variables ◄── run's job_variables
//
// Only a run needs every required variable. Schemas are bounded by package parameters.
package jobtemplate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// FormError says why a document is no job template; its text is for the client.
type FormError struct{ Reason string }

func (e *FormError) Error() string { return e.Reason }

// Template is a base job template.
type Template struct {
	// variables is the schema of the variables; nil when the template has none.
	variables json.RawMessage
	// properties are the parts of that schema, by variable.
	properties map[string]json.RawMessage
}

// placeholder matches what a worker replaces in a job configuration.
var placeholder = regexp.MustCompile(`\{\{\s*([\w.\-\[\]$]+)\s*\}\}`)

// Parse reads a template. An empty object is the template of a pool that waits for its first worker. The error is a
// *FormError when a part is missing, or the configuration uses a variable that the schema does not declare.
func Parse(raw []byte) (*Template, error) {
	var parts map[string]json.RawMessage
	if len(raw) == 0 {
		return &Template{}, nil
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, fmt.Errorf("read a base job template: %w", err)
	}
	if len(parts) == 0 {
		return &Template{}, nil
	}
	var configuration, variables map[string]json.RawMessage
	if !object(parts["job_configuration"], &configuration) || !object(parts["variables"], &variables) {
		return nil, &FormError{"The `base_job_template` must contain both a `job_configuration` key and a `variables` key."}
	}
	t := &Template{variables: parts["variables"]}
	if properties, ok := variables["properties"]; ok && json.Unmarshal(properties, &t.properties) != nil {
		return nil, &FormError{"The `properties` of the `variables` must be an object."}
	}
	if undeclared := t.undeclared(configuration); len(undeclared) > 0 {
		return nil, &FormError{"The variables specified in the job configuration template must be present as properties in the variables schema. " +
			"Your job configuration uses the following undeclared variable(s): " + strings.Join(undeclared, ", ") + "."}
	}
	return t, nil
}

// object reads an object that has members.
func object(raw json.RawMessage, members *map[string]json.RawMessage) bool {
	return len(raw) > 0 && json.Unmarshal(raw, members) == nil && len(*members) > 0
}

// undeclared are the variables of a job configuration that the schema does not have, in order.
func (t *Template) undeclared(configuration map[string]json.RawMessage) []string {
	var names []string
	for _, value := range configuration {
		for _, found := range placeholder.FindAllSubmatch(value, -1) {
			name := string(found[1])
			if _, ok := t.properties[name]; !ok && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// defaultOf is the default of a variable; block names the block that it refers to, empty when it is a plain value.
func (t *Template) defaultOf(name string) (value json.RawMessage, block string, ok bool) {
	var attributes struct {
		Default json.RawMessage `json:"default"`
	}
	if json.Unmarshal(t.properties[name], &attributes) != nil || attributes.Default == nil {
		return nil, "", false
	}
	var reference struct {
		Ref *struct {
			Block string `json:"block_document_id"`
		} `json:"$ref"`
	}
	if bytes.Contains(attributes.Default, []byte("$ref")) && json.Unmarshal(attributes.Default, &reference) == nil && reference.Ref != nil {
		return nil, reference.Ref.Block, true
	}
	return attributes.Default, "", true
}

// Blocks are the ids of the blocks that defaults refer to, as they were written.
func (t *Template) Blocks() []string {
	var ids []string
	for name := range t.properties {
		if _, block, _ := t.defaultOf(name); block != "" {
			ids = append(ids, block)
		}
	}
	slices.Sort(ids)
	return ids
}

// Empty tells whether a template is that of a pool which waits for its first worker.
func Empty(raw []byte) bool {
	trimmed := bytes.Join(bytes.Fields(raw), nil)
	return len(trimmed) == 0 || string(trimmed) == "{}"
}
