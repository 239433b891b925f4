package parameters

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestFormsTellEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	const schema = `{
		"type": "object", "required": ["n", "who"], "definitions": {"P": {"type": "object", "required": ["x"], "properties": {"x": {"type": "integer"}}}},
		"properties": {
			"n": {"type": "integer", "minimum": 1}, "who": {"type": "string"}, "note": {"type": "string"},
			"list": {"type": "array", "items": {"type": "integer"}}, "point": {"$ref": "#/definitions/P"}
		}
	}`
	variables := func(_ context.Context, _ uuid.UUID, name string) ([]byte, bool, error) {
		return []byte("7"), name == "seven", nil
	}
	compiled, err := CompileSchema([]byte(schema), false)
	require.NoError(t, err)
	for _, c := range []struct{ values, want string }{
		{`{"n": 1, "who": "me"}`, `[]`},
		{`{"n": 1, "who": "me", "note": null}`, `[]`},
		{`{}`, `[{"property": "n", "errors": ["'n' is a required property"]}, {"property": "who", "errors": ["'who' is a required property"]}]`},
		{`{"n": 0, "who": 1}`, `[{"property": "n", "errors": ["0 is less than the minimum of 1"]}, {"property": "who", "errors": ["1 is not of type 'string'"]}]`},
		{`{"n": 1, "who": "me", "list": [1, "a", 2, "b"]}`, `[{"property": "list", "errors": [
			{"index": 1, "errors": ["'a' is not of type 'integer'"]}, {"index": 3, "errors": ["'b' is not of type 'integer'"]}]}]`},
		{`{"n": 1, "who": "me", "point": {}}`, `[{"property": "point", "errors": [{"property": "x", "errors": ["'x' is a required property"]}]}]`},
		{`{"n": {"__prefect_kind": "workspace_variable", "variable_name": "seven"}, "who": "me"}`, `[]`},
		{`{"n": {"__orch_kind": "workspace_variable", "variable_name": "eight"}, "who": "me"}`, `[{"property": "n", "errors": ["Variable 'eight' not found in workspace."]}]`},
		{`{"n": {"__orch_kind": "jinja", "template": "{{ 1 }}"}, "who": "me"}`, `[]`},
		{`{"n": {"__orch_kind": "json", "value": "0"}, "who": "me"}`, `[{"property": "n", "errors": ["0 is less than the minimum of 1"]}]`},
		{`{"n": {"__orch_kind": "json"}, "who": "me"}`, `[{"property": "n", "errors": ["'n' is a required property"]}]`},
		{`{"n": 1, "who": "me", "list": [{"__orch_kind": "what"}]}`, `[{"property": "list", "errors": [{"index": 0, "errors": ["Unknown kind 'what' of a value"]}]}]`},
	} {
		t.Run(c.values, func(t *testing.T) {
			form, err := NewHydrator(variables).form(t.Context(), uuid.Nil, []byte(c.values))
			require.NoError(t, err, c.values)
			fieldErrors, err := compiled.fieldErrors(form)
			require.NoError(t, err, c.values)
			got, err := restjson.Marshal(&orchv1.SchemaValuesValidationResponse{Errors: nest(fieldErrors)})
			require.NoError(t, err)
			require.JSONEq(t, `{"errors": `+c.want+`, "valid": false}`, string(got), c.values)
		})
	}
	form, err := NewHydrator(variables).form(t.Context(), uuid.Nil, []byte(`{"who": {"__orch_kind": "jinja", "template": "{{"}, "n": 1}`))
	require.NoError(t, err)
	fieldErrors, err := compiled.fieldErrors(form)
	require.NoError(t, err)
	require.Len(t, fieldErrors, 1)
	require.Contains(t, fieldErrors[0].reason, "Invalid jinja")
	require.Equal(t, []step{{"who", -1}}, fieldErrors[0].location)
}
