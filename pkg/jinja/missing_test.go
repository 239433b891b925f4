package jinja_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/jinja"
)

func TestErrorNamesTheMissingValue(t *testing.T) {
	t.Parallel()
	body, err := jinja.FromJSON(`{"device": {"id": 1}, "list": [{"id": 1}], "odd key": {}, "text": "x"}`)
	require.NoError(t, err)
	engine := jinja.New(jinja.Options{Undefined: jinja.Strict})
	for _, c := range []struct{ template, missing string }{
		{"{{ body.device.name }}", "body.device has no name"},
		{"{{ body.device.name.first }}", "body.device has no name"},
		{"{{ body['device']['name'] }}", "body['device'] has no name"},
		{"{{ body.list[3].id }}", "body.list has no element 3"},
		{"{{ body.list[0].name }}", "body.list[0] has no name"},
		{"{{ body.text.name }}", "body.text has no name"},
		{"{{ body['odd key'].x }}", "body['odd key'] has no x"},
		{"{{ nothing.name }}", "nothing is undefined"},
		{"{{ nothing }}", "nothing is undefined"},
		{"{% for item in body.list %}{{ item.name }}{% endfor %}", "item has no name"},
		{"{% set d = body.device %}{{ d.name }}", "d has no name"},
		{"{{ body.device.name + 1 }}", "body.device has no name"},
		{"{{ body.device.name | upper }}", "body.device has no name"},
		{"{{ body.device.name | tojson }}", "body.device has no name"},
		{`{{ {"a": [body.device.name]} | tojson }}`, "body.device has no name"},
		{"{% for item in body.nothing %}{% endfor %}", "body has no nothing"},
		// Python's message stays where the template does not write the object as names.
		{"{{ (body.list | first).name }}", ""},
		{"{{ ([] | first).name }}", ""},
		{"{{ 1 / 0 }}", ""},
	} {
		t.Run(c.template, func(t *testing.T) {
			t.Parallel()
			template, err := engine.Compile(c.template)
			require.NoError(t, err)
			_, err = template.Render(t.Context(), jinja.Vars{"body": body})
			failed, ok := errors.AsType[*jinja.Error](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, c.missing, failed.Missing, "%v", err)
			if c.missing != "" {
				require.Equal(t, c.missing, failed.Explain())
			}
		})
	}
}
