package parameters_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/orchestration/internal/parameters"
)

// bomb is a schema of which each definition refers twice to the next.
func bomb(levels int, how string) string {
	var definitions []string
	for i := range levels {
		ref := fmt.Sprintf(`{"$ref":"#/definitions/d%d"}`, i+1)
		definitions = append(definitions, fmt.Sprintf(`"d%d":{"%s":[%s,%s]}`, i, how, ref, ref))
	}
	definitions = append(definitions, fmt.Sprintf(`"d%d":{"type":"integer"}`, levels))
	return `{"properties":{"a":{"$ref":"#/definitions/d0"}},"definitions":{` + strings.Join(definitions, ",") + `}}`
}

// TestSchemasThatExplodeAreRefused compiles and validates within a bound, whatever a schema makes of itself.
func TestSchemasThatExplodeAreRefused(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat(`}`, 40)
	for name, c := range map[string]struct{ schema, value string }{
		"doubling by allOf": {bomb(60, "allOf"), `{"a":"x"}`},
		"doubling by anyOf": {bomb(60, "anyOf"), `{"a":"x"}`},
		"doubling by oneOf": {bomb(200, "oneOf"), `{"a":1}`},
		"a recursion that doubles with each level of the value": {
			`{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`, deep,
		},
		"doubling by anchors": {
			strings.NewReplacer(`"#/definitions/d1"`, `"#d1"`, `"d1":{`, `"d1":{"$anchor":"d1",`).Replace(bomb(60, "allOf")), `{"a":"x"}`,
		},
		"a number of a schema with a large exponent": {`{"properties":{"a":{"minimum":1e999999}}}`, `{"a":1}`},
		"a number of a value with a large exponent":  {`{"properties":{"a":{"minimum":1}}}`, `{"a":-1e-999999}`},
		"a number of a value with many digits":       {`{"properties":{"a":{"minimum":1}}}`, `{"a":` + strings.Repeat("1", 1001) + `}`},
		"a reference that leads nowhere":             {`{"properties":{"a":{"$ref":"#/definitions/none"}}}`, `{"a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema, err := parameters.CompileSchema([]byte(c.schema), true)
			if err == nil {
				err = schema.Validate([]byte(c.value))
			}
			require.Error(t, err)
		})
	}
}

func TestRecursiveSchemasAreValidated(t *testing.T) {
	t.Parallel()
	tree := `{"properties":{"left":{"$ref":"#"},"right":{"$ref":"#"},"n":{"type":"integer"}}}`
	schema, err := parameters.CompileSchema([]byte(tree), false)
	require.NoError(t, err)
	require.NoError(t, schema.Validate([]byte(`{"left":{"left":{"right":{"n":1}}},"right":{"n":2}}`)))
	err = schema.Validate([]byte(`{"left":{"left":{"right":{"n":"x"}}}}`))
	require.ErrorContains(t, err, "left.left.right.n")
}
