package jinja_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/jinja"
)

// hostile templates that write little but cost much: shared parts that multiply, texts that are read repeatedly, names that are
// looked up for every statement.
func hostileTemplates() map[string]string {
	manyIfs := &strings.Builder{}
	for i := range 2500 {
		fmt.Fprintf(manyIfs, "{%% if a%d %%}{%% endif %%}", i)
	}
	return map[string]string{
		"shared tuple as a key":      "{% set ns = namespace(t=(1,)) %}{% for i in range(60) %}{% set ns.t = (ns.t, ns.t) %}{% endfor %}{{ {ns.t: 1}|length }}",
		"shared tuple sorted":        "{% set ns = namespace(t=(1,)) %}{% for i in range(60) %}{% set ns.t = (ns.t, ns.t) %}{% endfor %}{{ [ns.t, ns.t + ()]|sort|length }}",
		"shared list pretty-printed": "{% set ns = namespace(t=[1]) %}{% for i in range(60) %}{% set ns.t = [ns.t, ns.t] %}{% endfor %}{{ ns.t|pprint }}",
		"urlize of brackets":         "{{ ('(' * 2000000)|urlize|length }}{{ ('&lt;' * 500000)|urlize|length }}",
		"urlize of closing brackets": "{{ ('a' ~ '(' * 500000 ~ 'b' ~ ')' * 500000)|urlize|length }}",
		"urlize of an address":       "{{ ('a.' * 1000000)|urlize|length }}{{ ('a@b.' * 500000)|urlize|length }}",
		"wordwrap of one word":       "{{ ('x' * 2000000)|wordwrap(1)|length }}",
		"wordwrap of hyphens":        "{{ ('a-' * 1000000)|wordwrap(3)|length }}{{ ('-' * 1000000)|wordwrap(3)|length }}",
		"an index in a loop":         "{% set s = 'é' * 1000000 %}{% for i in range(100000) %}{{ s[i] }}{% endfor %}",
		"a search in a loop":         "{% set s = 'a' * 2000000 %}{% for i in range(100000) %}{% if 'b' in s or s.find('b', 1) > 0 %}x{% endif %}{% endfor %}",
		"comparisons in a loop":      "{% set s = 'a' * 5000000 %}{% set t = s ~ '' %}{% for i in range(100000) %}{% if s == t %}{% endif %}{% endfor %}",
		"lengths in a loop":          "{% set s = 'é' * 2000000 %}{% for i in range(100000) %}{% if s|length %}{% endif %}{% endfor %}",
		"titles of sigma":            "{{ ((\"'\" * 1000) ~ 'Σ') * 1000 }}|lower|length }}",
		"many ifs":                   manyIfs.String(),
		"a chain of sums":            "{{ 1" + strings.Repeat("+1", 30000) + " }}",
		"a long list":                "{{ [" + strings.Repeat("1,", 30000) + "]|sum }}",
		"many loops side by side":    strings.Repeat("{% for i in [1] %}{{ i }}{% endfor %}", 1500),
		"macros that double":         "{% macro f(s) %}{{ s }}{{ s }}{% endmacro %}{% set ns = namespace(s='x') %}{% for i in range(60) %}{% set ns.s = f(ns.s) %}{% endfor %}{{ ns.s|length }}",
		"power of a power":           "{% set ns = namespace(n=7) %}{% for i in range(100) %}{% set ns.n = ns.n ** 3 % 10 ** 9000 %}{% endfor %}{{ ns.n > 1 }}",
		"products of large ints":     "{% set n = 10 ** 9000 %}{% for i in range(100000) %}{% if n * n > 1 %}{% endif %}{% endfor %}",
		"divisions of large ints":    "{% set n = 10 ** 19000 %}{% set m = 7 ** 9000 %}{% for i in range(100000) %}{% if n % m > 1 %}{% endif %}{% endfor %}",
		"formats of large ints":      "{% set n = 10 ** 4000 %}{% for i in range(100000) %}{% set x = '%d' % n %}{% endfor %}",
		"fractions":                  "{% for i in range(100000) %}{% set x = (i / 7)|humanize_fractional %}{% endfor %}",
		"powers of floats":           "{% for i in range(100000) %}{% set x = (i + 0.5) ** 0.3 %}{% endfor %}",
		"digits of floats":           "{% for i in range(100000) %}{% set x = '%.300f' % 1.5 %}{% endfor %}",
		"replacements":               "{% set s = 'ab' * 100000 %}{% for i in range(100000) %}{% set x = s|replace('a', 'b') %}{% endfor %}",
		"int of a long text":         "{{ ('9' * 60000)|int(0, 36) > 1 }}{{ ('f' * 60000)|int(0, 16) > 1 }}",
		"rounding":                   "{% for i in range(100000) %}{% set x = 1.5|round(-300) %}{% endfor %}",
	}
}

// TestHostileWork must not run in parallel, because it measures memory.
func TestHostileWork(t *testing.T) {
	e := hostileEngine()
	for name, source := range hostileTemplates() {
		t.Run(name, func(t *testing.T) {
			before := allocated()
			tpl, err := e.Compile(source)
			if err == nil {
				_, err = tpl.Render(t.Context(), nil)
			}
			require.Less(t, allocated()-before, uint64(hostileBytes), "memory")
			if err != nil {
				var je *jinja.Error
				require.ErrorAs(t, err, &je)
				require.NotEqual(t, "InternalError", je.Type)
			}
		})
	}
}

// BenchmarkHostileWork measures how long the budget of steps and bytes lasts.
func BenchmarkHostileWork(b *testing.B) {
	e := hostileEngine()
	for name, source := range hostileTemplates() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if tpl, err := e.Compile(source); err == nil {
					_, _ = tpl.Render(b.Context(), nil) // Most exceed their budget.
				}
			}
		})
	}
}
