package jobtemplate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/orchestration/internal/jobtemplate"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const process = `{"job_configuration":{"command":"{{ command }}","env":{"A":["{{name}}"]}},
	"variables":{"type":"object","properties":{"command":{"type":"string"},"name":{"type":"string","default":null},"n":{"type":"integer","default":1}},
	"required":["command"]}}`

func TestForm(t *testing.T) {
	t.Parallel()
	const both = "must contain both"
	for template, want := range map[string]string{
		``:                         "",
		`{}`:                       "",
		process:                    "",
		`{"job_configuration":{}}`: both,
		`{"variables":{"a":1}}`:    both,
		`{"job_configuration":{},"variables":{}}`:                                                 both,
		`{"job_configuration":[1],"variables":{"a":1}}`:                                           both,
		`{"job_configuration":{"a":1},"variables":null}`:                                          both,
		`{"job_configuration":{"a":"{{ b }}"},"variables":{"properties":{"a":{}}}}`:               "undeclared variable(s): b.",
		`{"job_configuration":{"a":"{{ b }} {{c}}{{ b }}"},"variables":{"type":"object"}}`:        "undeclared variable(s): b, c.",
		`{"job_configuration":{"a":"{{ $HOME }}"},"variables":{"properties":{"a":{}}}}`:           "undeclared variable(s): $HOME.",
		`{"job_configuration":{"a":"{{ no name }}"},"variables":{"properties":{"a":{}}}}`:         "",
		`{"job_configuration":{"a":"x"},"variables":{"properties":[]}}`:                           "must be an object",
		`{"job_configuration":{"a":"x"},"variables":{"properties":{"a":{"default":{"$ref":1}}}}}`: "",
	} {
		_, err := jobtemplate.Parse([]byte(template))
		if want == "" {
			require.NoError(t, err, template)
			continue
		}
		var form *jobtemplate.FormError
		require.ErrorAs(t, err, &form, template)
		require.Contains(t, form.Reason, want, template)
	}
	_, err := jobtemplate.Parse([]byte(`[`))
	require.ErrorContains(t, err, "read a base job template")
}

func parse(t *testing.T, template string) *jobtemplate.Template {
	t.Helper()
	parsed, err := jobtemplate.Parse([]byte(template))
	require.NoError(t, err)
	return parsed
}

func declaring(properties string) string {
	return `{"job_configuration":{"a":"b"},"variables":{"type":"object","properties":` + properties + `}}`
}

func TestDefaultsFitTheirSchema(t *testing.T) {
	t.Parallel()
	for properties, want := range map[string]string{
		`{"a":{"type":"string","default":"x"}}`:  "",
		`{"a":{"type":"string","default":null}}`: "",
		`{"a":{"type":"string","default":1}}`:    "Validation failed for field 'a'. Failure reason: 1 is not of type 'string'",
		`{"a":{"type":"text"}}`:                  "the schema is not valid",
		`{"a":{"default":{"$ref":{"block_document_id":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}},"type":"string"}}`: "",
	} {
		err := parse(t, declaring(properties)).CheckDefaults(nil)
		if want == "" {
			require.NoError(t, err, properties)
		} else {
			require.ErrorContains(t, err, want, properties)
		}
	}
	require.NoError(t, parse(t, `{}`).CheckDefaults(nil))
}

func TestVariablesAreLayered(t *testing.T) {
	t.Parallel()
	process := parse(t, process)
	require.NoError(t, process.CheckVariables(false))
	require.ErrorContains(t, process.CheckVariables(true), "'command' is a required property")
	require.NoError(t, process.CheckVariables(true, []byte(`{"command":"ls"}`)))
	require.NoError(t, process.CheckVariables(true, []byte(`{"command":1}`), []byte(`{"command":"ls","name":null}`)))
	require.ErrorContains(t, process.CheckVariables(false, []byte(`{"n":"x"}`)), "field 'n'")
	require.ErrorContains(t, process.CheckVariables(false, []byte(`[`)), "read job variables")
	require.NoError(t, parse(t, `{}`).CheckVariables(true, []byte(`{"anything":1}`)))
	faulty := parse(t, declaring(`{"a":{"type":"string","default":1},"b":{"type":"string"}},"required":["a"]`))
	require.NoError(t, faulty.CheckVariables(true, []byte(`{"b":"x"}`)), "an invalid default is not the caller's error")
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"x", "y"}, parse(t, declaring(
		`{"a":{"default":{"$ref":{"block_document_id":"y"}}},"b":{"default":{"$ref":{"block_document_id":"x"}}},"c":{"default":"$ref"}}`)).Blocks())
}

// TestLargeTemplates checks a template of five megabytes, and one that a few definitions blow up.
func TestLargeTemplates(t *testing.T) {
	t.Parallel()
	with := func(n, description int) *jobtemplate.Template {
		var properties []string
		for i := range n {
			properties = append(properties, fmt.Sprintf(`"v%d":{"type":"string","description":"%s"}`, i, strings.Repeat("x", description)))
		}
		return parse(t, declaring("{"+strings.Join(properties, ",")+"}"))
	}
	require.ErrorContains(t, with(50_000, 60).CheckDefaults(nil), "too complex")
	large := with(500, 10_000)
	require.NoError(t, large.CheckDefaults(nil))
	require.ErrorContains(t, large.CheckVariables(true, []byte(`{"v7":1}`)), "field 'v7'")

	var definitions []string
	for i := range 60 {
		definitions = append(definitions, fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/definitions/d%d"},{"$ref":"#/definitions/d%d"}]}`, i, i+1, i+1))
	}
	bomb := `{"job_configuration":{"a":"b"},"variables":{"properties":{"a":{"$ref":"#/definitions/d0","default":1}},"definitions":{` +
		strings.Join(definitions, ",") + `,"d60":{"type":"string"}}}}`
	require.ErrorContains(t, parse(t, bomb).CheckDefaults(nil), "too complex")
	cyclic := declaring(`{"a":{"$ref":"#/properties/a","default":1}}`)
	require.Error(t, parse(t, cyclic).CheckDefaults(nil))
}
