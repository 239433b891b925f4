package jinja_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/jinja"
)

// TestProgramsAreShared renders the same templates and values from many goroutines at once.
func TestProgramsAreShared(t *testing.T) {
	t.Parallel()
	e := jinja.New(jinja.Options{Undefined: jinja.Chainable, CacheEntries: 4})
	templates := []string{
		"{% for u in users|sort(attribute='age') %}{{ loop.index }}:{{ u.name|upper }} {% endfor %}",
		"{% macro m(x) %}<{{ x }}>{% endmacro %}{% for u in users %}{{ m(u.name) }}{% endfor %}",
		"{% set ns = namespace(n=0) %}{% for u in users %}{% set ns.n = ns.n + u.age %}{% endfor %}{{ ns.n }}",
		"{{ users|groupby('age')|map('first')|list|tojson }}",
		"{% block a %}{{ users|length }}{% endblock %}{{ self.a() }}",
		"{% for t in tree recursive %}{{ t.n }}{{ loop(t.kids) }}{% endfor %}",
	}
	vars, err := jinja.DecodeVars([]byte(`{"users":[{"name":"Ann","age":31},{"name":"Bob","age":25}],
		"tree":[{"n":"a","kids":[{"n":"b","kids":[]}]}]}`))
	require.NoError(t, err)
	want := make([]string, len(templates))
	for i, src := range templates {
		tpl, err := e.Compile(src)
		require.NoError(t, err)
		want[i], err = tpl.Render(t.Context(), vars)
		require.NoError(t, err)
	}
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			for n := range 20 {
				i := (g + n) % len(templates)
				tpl, err := e.Cached(templates[i])
				if err != nil {
					t.Error(err)
					return
				}
				got, err := tpl.Render(t.Context(), vars)
				if err != nil || got != want[i] {
					t.Errorf("%q: got %q, %v; want %q", templates[i], got, err, want[i])
					return
				}
			}
		})
	}
	wg.Wait()
}
