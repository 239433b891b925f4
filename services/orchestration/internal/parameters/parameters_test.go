package parameters_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/orchestration/internal/parameters"
)

func TestMerge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, over, want string }{
		{``, ``, ``},
		{`{"a":1}`, ``, `{"a":1}`},
		{`{"a":1}`, `{}`, `{"a":1}`},
		{``, `{"a":1}`, `{"a":1}`},
		{`{}`, `{"a":1}`, `{"a":1}`},
		{`{"a":1,"b":{"c":2}}`, `{"b":{"d":1.50},"e":null}`, `{"a":1,"b":{"d":1.50},"e":null}`},
		{`{"n":123456789012345678901234567890}`, `{"<&>":"\u00e4","$x.y":1}`, `{"n":123456789012345678901234567890,"<&>":"\u00e4","$x.y":1}`},
	} {
		t.Run(c.base, func(t *testing.T) {
			got, err := parameters.Merge([]byte(c.base), []byte(c.over))
			require.NoError(t, err)
			require.Equal(t, c.want, string(got), "%s over %s", c.over, c.base)
		})
	}
	_, err := parameters.Merge([]byte(`{"a":`), []byte(`{"b":1}`))
	require.Error(t, err)
}

func variables(_ context.Context, _ uuid.UUID, name string) ([]byte, bool, error) {
	switch name {
	case "known":
		return []byte(`{"n":1}`), true, nil
	case "broken":
		return nil, false, errors.New("no store")
	}
	return nil, false, nil
}

func TestHydrate(t *testing.T) {
	t.Parallel()
	h := parameters.NewHydrator(variables)
	for _, c := range []struct{ in, want string }{
		{``, `{}`},
		{`{"x": 1}`, `{"x": 1}`},
		{`{"x":"a_kind of magic","y":1.0}`, `{"x":"a_kind of magic","y":1.0}`},
		{`{"x":{"__prefect_kind":"json","value":"{\"a\":[1.50]}"}}`, `{"x":{"a":[1.50]}}`},
		{`{"x":{"__orch_kind":"json","value":"1e400"}}`, `{"x":1e400}`},
		{`{"x":{"__orch\u005fkind":"json","value":"1"}}`, `{"x":1}`},
		{`{"l":[1,{"__orch_kind":"jinja","template":"{{ 1 + 1 }}<b>"},{"__orch_kind":"json"}]}`, `{"l":[1,"2<b>"]}`},
		{`{"x":{"__orch_kind":"jinja","template":"{{ a.b.c }}"}}`, `{"x":""}`},
		{`{"x":{"__orch_kind":"jinja","template":{"__orch_kind":"json","value":"\"{{ 2 }}\""}}}`, `{"x":"2"}`},
		{`{"x":{"__orch_kind":"workspace_variable","variable_name":"known"}}`, `{"x":{"n":1}}`},
		{`{"x":{"__orch_kind":null,"value":{"a":1}}}`, `{"x":{"a":1}}`},
		{`{"x":{"__orch_kind":null,"value":{"__orch_kind":"json","value":"3"}}}`, `{"x":3}`},
		{`{"x":{"__orch_kind":"json"},"y":{"z":{"__prefect_kind":"workspace_variable"}}}`, `{"y":{}}`},
		{`{"x":{"__orch_kind":"json","value":7},"y":{"__orch_kind":"json","value":null}}`, `{"x":7,"y":null}`},
		{`{"__orch_kind":"json","value":"{\"x\":1}"}`, `{"x":1}`},
	} {
		t.Run(c.in, func(t *testing.T) {
			got, err := h.Hydrate(t.Context(), uuid.Nil, []byte(c.in))
			require.NoError(t, err, c.in)
			require.Equal(t, c.want, string(got), c.in)
		})
	}
}

func TestHydrateRefuses(t *testing.T) {
	t.Parallel()
	h := parameters.NewHydrator(variables)
	for _, c := range []struct{ in, want string }{
		{`{"x":{"__orch_kind":"json","value":"{"}}`, "Invalid JSON"},
		{`{"x":{"__prefect_kind":"json","value":"{\"invalid\": json}"}}`, "Invalid JSON: Expecting value: line 1 column 13 (char 12)"},
		{`{"x":{"__orch_kind":"jinja"}}`, "Missing 'template' key in __orch_kind object"},
		{`{"x":{"__orch_kind":"jinja","template":"{{"}}`, "Invalid jinja"},
		{`{"x":{"__orch_kind":"jinja","template":null}}`, "Invalid jinja"},
		{`{"x":{"__orch_kind":"jinja","template":"{% for i in range(101) %}{% endfor %}"}}`, "Invalid jinja"},
		{`{"x":{"__orch_kind":"workspace_variable","variable_name":"none"}}`, "Variable 'none' not found in workspace."},
		{`{"x":{"__prefect_kind":"none"}}`, "Missing 'value' key in __prefect_kind object"},
		{`{"x":{"__orch_kind":"new"}}`, "Unknown kind 'new'"},
		{`{"__orch_kind":"json","value":"7"}`, "no object"},
	} {
		t.Run(c.in, func(t *testing.T) {
			_, err := h.Hydrate(t.Context(), uuid.Nil, []byte(c.in))
			var refused *parameters.HydrationError
			require.ErrorAs(t, err, &refused, c.in)
			require.Contains(t, err.Error(), c.want)
		})
	}
	_, err := h.Hydrate(t.Context(), uuid.Nil, []byte(`{"x":{"__orch_kind":"workspace_variable","variable_name":"broken"}}`))
	var refused *parameters.HydrationError
	require.NotErrorAs(t, err, &refused, "an outage is not the client's error")
	require.Error(t, err)
}

func TestValidate(t *testing.T) {
	t.Parallel()
	schema := `{"type":"object","required":["x"],"additionalProperties":false,"properties":{
		"x":{"type":"integer","minimum":1,"maximum":9},
		"s":{"type":"string","enum":["a","b"]},
		"d":{"type":"string","default":"d"},
		"p":{"type":"object","properties":{"n m":{"type":"array","items":{"$ref":"#/definitions/n"}}}}},
		"definitions":{"n":{"type":"number"}}}`
	compiled, err := parameters.CompileSchema([]byte(schema), false)
	require.NoError(t, err)
	for _, c := range []struct{ params, want string }{
		{`{"x":1}`, ""},
		{`{"x":1,"s":null,"p":null}`, ""},
		{`{"x":1,"d":null}`, "Validation failed for field 'd'. Failure reason: None is not of type 'string'"},
		{``, "Validation failed. Failure reason: 'x' is a required property"},
		{`{"x":"1"}`, "Validation failed for field 'x'. Failure reason: '1' is not of type 'integer'"},
		{`{"x":true}`, "Validation failed for field 'x'. Failure reason: True is not of type 'integer'"},
		{`{"x":0}`, "Validation failed for field 'x'. Failure reason: 0 is less than the minimum of 1"},
		{`{"x":10}`, "Validation failed for field 'x'. Failure reason: 10 is greater than the maximum of 9"},
		{`{"x":1,"s":"c"}`, "Validation failed for field 's'. Failure reason: 'c' is not one of ['a', 'b']"},
		{`{"x":1,"z":1}`, "Validation failed. Failure reason: Additional properties are not allowed ('z' was unexpected)"},
		{`{"x":1,"p":{"n m":[1,{"k":[null]}]}}`, "Validation failed for field 'p['n m'][1]'. Failure reason: {'k': [None]} is not of type 'number'"},
	} {
		t.Run(c.params, func(t *testing.T) {
			err := compiled.Validate([]byte(c.params))
			if c.want == "" {
				require.NoError(t, err, c.params)
				return
			}
			var invalid *parameters.InvalidError
			require.ErrorAs(t, err, &invalid, c.params)
			require.Equal(t, c.want, err.Error(), c.params)
		})
	}
	partial, err := parameters.CompileSchema([]byte(schema), true)
	require.NoError(t, err)
	require.NoError(t, partial.Validate([]byte(`{}`)))
	require.Error(t, partial.Validate([]byte(`{"x":"1"}`)))
}

func TestPartialSchemasAskForNothingOnAnyLevel(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","required":["person"],"properties":{
		"person":{"allOf":[{"$ref":"#/definitions/Person"}]},"required":{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}},
		"definitions":{"Person":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"greeting":{"type":"string"}}}}}`
	for _, params := range []string{`{}`, `{"person":{"greeting":"hello"}}`, `{"required":{}}`} {
		partial, err := parameters.CompileSchema([]byte(schema), true)
		require.NoError(t, err)
		require.NoError(t, partial.Validate([]byte(params)), params)
		require.Error(t, partial.Validate([]byte(`{"required":{"n":"one"}}`)), "a property of that name keeps its schema")
		whole, err := parameters.CompileSchema([]byte(schema), false)
		require.NoError(t, err)
		require.Error(t, whole.Validate([]byte(params)), params)
	}
}

func TestReasonsOfSchemas(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"blork"}`: "'blork' is not valid under any of the given schemas",
		`{"type":"object","properties":{"x":{"type":"blork"}}}`: "'blork' is not valid under any of the given schemas",
		`{"properties":[]}`: "[] is not of type 'object'",
		`{"minLength":-1}`:  "-1 is less than the minimum of 0",
	} {
		_, err := parameters.CompileSchema([]byte(schema), false)
		var invalid *parameters.SchemaError
		require.ErrorAs(t, err, &invalid, schema)
		require.Equal(t, want, invalid.Reason, schema)
	}
	circular, err := parameters.CompileSchema([]byte(`{"properties":{"x":{"$ref":"#/definitions/c"}},"definitions":{"c":{"allOf":[{"$ref":"#/definitions/c"}]}}}`), false)
	require.NoError(t, err)
	var invalid *parameters.SchemaError
	require.ErrorAs(t, circular.Validate([]byte(`{"x":1}`)), &invalid)
	require.Equal(t, "Unable to validate schema with circular references.", invalid.Reason)
}

func TestReasonsOfValues(t *testing.T) {
	t.Parallel()
	for schema, c := range map[string]struct{ value, want string }{
		`{"exclusiveMinimum":3}`: {"3", "3 is less than or equal to the minimum of 3"},
		`{"exclusiveMaximum":3}`: {"3", "3 is greater than or equal to the maximum of 3"},
		`{"multipleOf":3}`:       {"4", "4 is not a multiple of 3"},
		`{"minItems":2}`:         {"[1]", "[1] is too short"},
		`{"maxItems":1}`:         {"[1,2]", "[1, 2] is too long"},
		`{"uniqueItems":true}`:   {"[1,1]", "[1, 1] has non-unique elements"},
		`{"oneOf":[{},{}]}`:      {"1", "1 is valid under more than one of the given schemas"},
	} {
		t.Run(schema, func(t *testing.T) {
			compiled, err := parameters.CompileSchema([]byte(`{"properties":{"x":`+schema+`}}`), false)
			require.NoError(t, err, schema)
			var invalid *parameters.InvalidError
			require.ErrorAs(t, compiled.Validate([]byte(`{"x":`+c.value+`}`)), &invalid, schema)
			require.Equal(t, c.want, invalid.Reason, schema)
		})
	}
}

func TestSchemasThatAreNone(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		`{"type":7}`, `{"properties":[]}`, `{"$ref":"file:///etc/passwd"}`, `{"$ref":"http://127.0.0.1:1/x"}`, `{"$ref":"#/none"}`,
		`{"pattern":"("}`, `{"$schema":"http://example.com/own"}`,
	} {
		_, err := parameters.CompileSchema([]byte(schema), false)
		require.ErrorIs(t, err, parameters.ErrSchema, schema)
	}
	for _, schema := range []string{`{}`, `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`, `{"$ref":"#"}`} {
		compiled, err := parameters.CompileSchema([]byte(schema), false)
		require.NoError(t, err, schema)
		_ = compiled.Validate([]byte(`{"x":1}`))
	}
}

func TestWithoutMarkers(t *testing.T) {
	t.Parallel()
	got, err := parameters.WithoutMarkers([]byte(`{"a":1,"b":{"c":[{"__prefect_kind":"json"}]},"d":"_kind"}`))
	require.NoError(t, err)
	require.Equal(t, `{"a":1,"d":"_kind"}`, string(got))
}

func FuzzHydrate(f *testing.F) {
	f.Add(`{"x":{"__orch_kind":"json","value":"1"}}`)
	f.Add(`{"x":{"__prefect_kind":"jinja","template":"{{ range(3) }}"}}`)
	h := parameters.NewHydrator(parameters.NoVariables)
	f.Fuzz(func(t *testing.T, text string) {
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &object) != nil || object == nil {
			t.Skip()
		}
		got, err := h.Hydrate(t.Context(), uuid.Nil, []byte(text))
		if err != nil {
			return
		}
		require.NoError(t, json.Unmarshal(got, &object), "%s", got)
	})
}

// FuzzValidateSchema compiles a client's schema and validates values by it. Both end, whatever the schema refers to, and nothing outside
// of the schema is read.
func FuzzValidateSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`, `{"a":1}`)
	f.Add(`{"$ref":"#/definitions/A","definitions":{"A":{"properties":{"a":{"$ref":"#/definitions/A"}}}}}`, `{"a":{"a":{}}}`)
	f.Fuzz(func(t *testing.T, schema, values string) {
		for _, partial := range []bool{false, true} {
			compiled, err := parameters.CompileSchema([]byte(schema), partial)
			if err != nil {
				require.ErrorIs(t, err, parameters.ErrSchema)
				continue
			}
			if json.Valid([]byte(values)) {
				_ = compiled.Validate([]byte(values)) // It returns.
			}
		}
	})
}
