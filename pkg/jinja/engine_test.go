package jinja_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/jinja"
)

func render(t *testing.T, o jinja.Options, source string, vars jinja.Vars) (string, error) {
	t.Helper()
	tpl, err := jinja.New(o).Compile(source)
	if err != nil {
		return "", err
	}
	return tpl.Render(t.Context(), vars)
}

func TestErrorsHavePositions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, source string
		kind         jinja.Kind
		line, column int
		text         string
	}{
		{"syntax", "a\n{% if x %}\nb {{ 1 + }}\n", jinja.KindSyntax, 3, 10, "b {{ 1 + }}"},
		{"unknown filter", "\n\n é {{ x|nope }}", jinja.KindSyntax, 3, 9, " é {{ x|nope }}"},
		{"runtime", "one\ntwo {{ 1 / 0 }}", jinja.KindRuntime, 2, 10, "two {{ 1 / 0 }}"},
		{"undefined", "{{ x }}\n{{ x + 1 }}", jinja.KindUndefined, 2, 6, "{{ x + 1 }}"},
		{"inside of a macro", "{% macro m() %}\n{{ 'a' + 1 }}{% endmacro %}\n{{ m() }}", jinja.KindRuntime, 2, 8, "{{ 'a' + 1 }}{% endmacro %}"},
		{"budget", "x\n{{ 'x' * 10000000000 }}", jinja.KindBudget, 2, 8, "{{ 'x' * 10000000000 }}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := render(t, jinja.Options{}, tt.source, nil)
			var e *jinja.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, tt.kind, e.Kind)
			require.Equal(t, tt.line, e.Line)
			require.Equal(t, tt.column, e.Column)
			require.Equal(t, tt.text, e.Source)
			require.Contains(t, err.Error(), e.Message)
		})
	}
}

func TestHostFilter(t *testing.T) {
	t.Parallel()
	o := jinja.Options{Filters: map[string]jinja.FilterFunc{
		"event": func(c *jinja.Call) (jinja.Value, error) {
			headers := c.Arg(0, "headers")
			if headers == nil || !jinja.IsDict(headers) {
				return nil, c.Errorf("headers must be a mapping")
			}
			typ, _ := jinja.Get(headers, "CE-Type")
			return jinja.PrintAsJSON(jinja.Dict(
				jinja.Pair{Key: jinja.Str("type"), Value: typ},
				jinja.Pair{Key: jinja.Str("data"), Value: c.Value},
			)), nil
		},
	}}
	vars := jinja.Vars{
		"body":    jinja.List(jinja.Int(1), jinja.None, jinja.Str("<é>")),
		"headers": jinja.CaseInsensitiveDict([][2]string{{"Ce-Type", "Made.Here"}, {"X-A", "1"}}),
	}
	got, err := render(t, o, "{% set e = body|event(headers) %}{{ e }} {{ e.type }} {{ e.data[2] }} {{ e|tojson }}", vars)
	require.NoError(t, err)
	require.Equal(t, `{"type":"Made.Here","data":[1,null,"<é>"]} Made.Here <é> {"data": [1, null, "\u003c\u00e9\u003e"], "type": "Made.Here"}`, got)

	_, err = render(t, o, "{{ 1|event }}", nil)
	var e *jinja.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, jinja.KindRuntime, e.Kind)
	require.Equal(t, "headers must be a mapping", e.Message)
}

func TestCaseInsensitiveDict(t *testing.T) {
	t.Parallel()
	vars := jinja.Vars{"headers": jinja.CaseInsensitiveDict([][2]string{{"X-GitHub-Event", "Push"}, {"Accept", "*/*"}})}
	got, err := render(t, jinja.Options{Undefined: jinja.Chainable},
		"{{ headers['x-github-event'] }} {{ headers['X-Github-Event'] }} {{ headers.get('ACCEPT') }} {{ 'accept' in headers }} {{ headers|list }} {{ headers.items()|list }} {{ headers|tojson }} {{ headers.nope.more }}", vars)
	require.NoError(t, err)
	require.Equal(t, `Push Push */* True ['x-github-event', 'accept'] [('x-github-event', 'Push'), ('accept', '*/*')] {"accept": "*/*", "x-github-event": "Push"} `, got)
}

func TestFromJSON(t *testing.T) {
	t.Parallel()
	v, err := jinja.FromJSON(`{"z": 12345678901234567890123, "a": 1.0, "z2": [1e2, -0, true, null], "a": 2}`)
	require.NoError(t, err)
	b, err := jinja.ToJSON(v)
	require.NoError(t, err)
	require.Equal(t, `{"z":12345678901234567890123,"a":2,"z2":[100.0,0,true,null]}`, string(b))
	for _, bad := range []string{"", "{", "[1,]", "1 2", "{\"a\" 1}", strings.Repeat("[", 5000), "[-" + strings.Repeat("7", 4301) + "]"} {
		_, err := jinja.FromJSON(bad)
		require.ErrorIs(t, err, jinja.ErrJSON, bad)
	}
}

func TestUndefinedModes(t *testing.T) {
	t.Parallel()
	for mode, want := range map[jinja.Undefined][2]string{
		jinja.Default:   {"", "undefined"},
		jinja.Chainable: {"", ""},
		jinja.Strict:    {"undefined", "undefined"},
	} {
		for i, source := range []string{"{{ missing }}", "{{ missing.a.b }}"} {
			got, err := render(t, jinja.Options{Undefined: mode}, source, nil)
			if want[i] == "" {
				require.NoError(t, err)
				require.Empty(t, got)
				continue
			}
			var e *jinja.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, jinja.KindUndefined, e.Kind)
		}
	}
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	e := jinja.New(jinja.Options{CacheEntries: 2})
	a, err := e.Cached("a")
	require.NoError(t, err)
	again, err := e.Cached("a")
	require.NoError(t, err)
	require.Same(t, a, again)
	for _, s := range []string{"b", "c"} {
		_, err := e.Cached(s)
		require.NoError(t, err)
	}
	again, err = e.Cached("a")
	require.NoError(t, err)
	require.NotSame(t, a, again)
	_, err = e.Cached("{{")
	require.Error(t, err)
}

func TestReads(t *testing.T) {
	t.Parallel()
	e := jinja.New(jinja.Options{})
	for source, want := range map[string]string{
		"text": "", "{{ a }}": "a", "{% if b %}{{ a.b }}{% endif %}": "a b", "{% set a = 1 %}{{ a }}": "", "{% for a in b %}{{ a }}{% endfor %}": "b",
		"{% macro m(a) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}": "b", "{% block x %}{{ a }}{% endblock %}": "a",
		"{% if b %}{% set a = 1 %}{% endif %}{{ a }}": "a b", "{{ 'a' }}{{ x|map(attribute='a') }}": "", "{% set ns = namespace() %}{% set ns.a = b %}": "b",
	} {
		tpl, err := e.Compile(source)
		require.NoError(t, err)
		var got []string
		for _, name := range []string{"a", "b"} {
			if tpl.Reads(name) {
				got = append(got, name)
			}
		}
		require.Equal(t, want, strings.Join(got, " "), source)
	}
}
