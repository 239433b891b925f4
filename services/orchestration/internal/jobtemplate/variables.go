package jobtemplate

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/orch-project/orch/services/orchestration/internal/parameters"
)

// CheckDefaults checks the defaults of a template against its own schema. blocks are the data of those that defaults refer to, by id as it
// was written. The error is a *parameters.SchemaError when the
// schema is none, and a *parameters.InvalidError when a default does not fit.
func (t *Template) CheckDefaults(blocks map[string]json.RawMessage) error {
	if len(t.variables) == 0 {
		return nil
	}
	schema, err := parameters.CompileSchema(t.variables, true)
	if err != nil {
		return err
	}
	values, _, err := t.defaults(nil, blocks)
	if err != nil {
		return err
	}
	return t.validate(schema, values)
}

// CheckVariables checks layers of job variables, the later over the earlier, over the defaults of a template. A default
// that does not fit is left out: it is the pool's error, not the caller's. With required set, every required variable must
// have a value. The errors are those of CheckDefaults.
func (t *Template) CheckVariables(required bool, layers ...[]byte) error {
	if len(t.variables) == 0 {
		return nil
	}
	partial, err := parameters.CompileSchema(t.variables, true)
	if err != nil {
		return err
	}
	values, invalid, err := t.defaults(partial, nil)
	if err != nil {
		return err
	}
	for _, layer := range layers {
		if err := overlay(values, layer); err != nil {
			return err
		}
	}
	schema := partial
	if required && !invalid { // Without its default, a variable may be missing that the pool has.
		if schema, err = parameters.CompileSchema(t.variables, false); err != nil {
			return err
		}
	}
	return t.validate(schema, values)
}

// defaults are the defaults of the variables, but for those that refer to other blocks. With a schema, those that do not fit are left out, and invalid says so.
func (t *Template) defaults(schema *parameters.Schema, blocks map[string]json.RawMessage) (values map[string]json.RawMessage, invalid bool, err error) {
	values = map[string]json.RawMessage{}
	for name := range t.properties {
		value, block, ok := t.defaultOf(name)
		if block != "" {
			value, ok = blocks[block]
		}
		if !ok {
			continue
		}
		if schema != nil {
			err := t.validate(schema, map[string]json.RawMessage{name: value})
			if _, misfit := errors.AsType[*parameters.InvalidError](err); misfit {
				invalid = true
				continue
			}
			if err != nil {
				return nil, false, err
			}
		}
		values[name] = value
	}
	return values, invalid, nil
}

// overlay lays the members of an object over others.
func overlay(values map[string]json.RawMessage, layer []byte) error {
	if len(layer) == 0 {
		return nil
	}
	var over map[string]json.RawMessage
	if err := json.Unmarshal(layer, &over); err != nil {
		return fmt.Errorf("read job variables: %w", err)
	}
	maps.Copy(values, over)
	return nil
}

// validate checks variables against a schema. A variable that has a default may be null, whatever its type: null is what
// clients write for a value that is not set.
func (t *Template) validate(schema *parameters.Schema, values map[string]json.RawMessage) error {
	set := make(map[string]json.RawMessage, len(values))
	for name, value := range values {
		if _, _, hasDefault := t.defaultOf(name); string(value) != "null" || !hasDefault {
			set[name] = value
		}
	}
	raw, err := json.Marshal(set)
	if err != nil {
		return fmt.Errorf("write job variables: %w", err)
	}
	return schema.Validate(raw)
}
