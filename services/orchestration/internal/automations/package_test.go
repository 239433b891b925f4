package automations

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/orchestration/internal/jsontree"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestParametersAreLookedThroughForTemplates(t *testing.T) {
	t.Parallel()
	s := &Service{templates: newTemplates()}
	for text, want := range map[string]string{
		`{"a":"plain","b":1,"c":null}`:                                 "",
		`{"a":"{{ event.id }}"}`:                                       "",
		`{"a":"{{ flow_run | ui_url }}"}`:                              "",
		`{"a":"{{ x"}`:                                                 "a",
		`{"a":{"b":"{% if %}"}}`:                                       "a.b",
		`{"a":["{{ x"]}`:                                               "", // A text in a list is no template.
		`{"a":[{"b":"{{ x"}]}`:                                         "a[0].b",
		`{"a":{"__orch_kind":"jinja","template":"{{ x"}}`:              "a",
		`{"a":{"__prefect_kind":"jinja","template":"{{ x"}}`:           "a",
		`{"a":{"__orch_kind":"json","value":"{"}}`:                     "a",
		`{"a":{"__orch_kind":"json","value":"{\"b\":1}"}}`:             "",
		`{"a":{"__orch_kind":"workspace_variable","variable_name":1}}`: "",
	} {
		parameters, err := jsontree.ParseObject([]byte(text))
		require.NoError(t, err)
		var found string
		s.checkParameters(parameters, "", func(where, _ string) { found += where })
		require.Equal(t, want, found, text)
	}
}
