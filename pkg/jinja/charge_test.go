package jinja_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/jinja"
)

// TestWorkIsCharged renders templates with inputs of one size and of four times that size. The steps or bytes charged must grow
// with the size; otherwise a template could exceed its budget. No clock is involved.
func TestWorkIsCharged(t *testing.T) {
	t.Parallel()
	const small = 20_000
	e := jinja.New(jinja.Options{Undefined: jinja.Chainable, Budget: jinja.Budget{Steps: -1, Bytes: -1, OutputBytes: -1, Digits: 1 << 20, Timeout: -1}})
	for _, template := range []string{
		"{{ s == t }}", "{{ [s] == [t] }}", "{{ s in [t] }}", "{{ s < t }}", "{{ 'b' in s }}", "{{ s.find('b') }}", "{{ s.rfind('b') }}", "{{ s.index('z') }}", "{{ s.count('b') }}",
		"{{ s.endswith('b') and s ~ t }}", "{{ s|length }}", "{{ u|length }}", "{{ u[-1] }}", "{{ u[1000:-1]|length }}", "{{ s[::-1] }}", "{{ s * 2 }}",
		"{{ s|upper }}", "{{ s|lower }}", "{{ s|title }}", "{{ s|capitalize }}", "{{ s.swapcase() }}", "{{ s.isalpha() }}", "{{ s.split('b') }}",
		"{{ s.splitlines() }}", "{{ s.strip('a') }}", "{{ s|trim }}", "{{ s|replace('b', 'c') }}", "{{ s|replace('a', 'cc') }}", "{{ s.zfill(3) ~ s }}",
		"{{ s|urlize }}", "{{ s|wordwrap(3) }}", "{{ s|wordcount }}", "{{ s|indent }}", "{{ s|escape }}", "{{ s|striptags }}", "{{ s|tojson }}",
		"{{ s|pprint }}", "{{ s|center(9) }}", "{{ s|truncate(100000) }}", "{{ s|urlencode }}", "{{ s|reverse }}", "{{ s|list|length }}", "{{ s|sort|length }}",
		"{{ s|unique|list|length }}", "{{ s|first ~ s|last ~ s }}", "{{ '%s' % s }}", "{{ '{}'.format(s) }}", "{{ s|format }}", "{{ s|string ~ s }}",
		"{{ s.translate({97: 'b'}) }}", "{{ s.encode() if false else s.casefold() }}", "{{ s.partition('b') }}", "{{ s.join(['x', 'y']) }}",
		"{{ s|int }}", "{{ s|float }}", "{{ d|int }}", "{{ d|float }}", "{{ {s: 1}|length }}", "{{ {'x': 1}[s] }}", "{{ {'x': 1}.get(s) }}", "{{ s in {t: 1} }}", "{{ {s: 1} == {t: 1} }}", "{{ dict([(s, 1)])|length }}", "{{ [s, t]|unique|list|length }}",
		"{{ l == m }}", "{{ l < m }}", "{{ 7 in l }}", "{{ l|sum }}", "{{ l|sort|length }}", "{{ l|unique|list|length }}", "{{ l|join }}", "{{ l|min }}", "{{ l|max }}",
		"{{ l|list|length }}", "{{ l|reverse|list|length }}", "{{ l|batch(3)|list|length }}", "{{ l|slice(3)|list|length }}", "{{ l|map('string')|list|length }}",
		"{{ l|select('odd')|list|length }}", "{{ l|tojson }}", "{{ l|pprint }}", "{{ l|string }}", "{{ (l + m)|length }}", "{{ (l * 2)|length }}", "{{ l[::-1]|length }}",
		"{{ l.index(7) }}", "{{ l.count(7) }}", "{{ l|groupby('x')|list|length }}", "{% for i in l %}{% endfor %}", "{{ l|random == 7 }}{{ l|sum }}",
		"{{ n * n > 1 }}", "{{ n // k > 1 }}", "{{ n % k > 1 }}", "{{ n ** 2 > 1 }}", "{{ '%d' % n }}", "{{ n|string }}", "{{ n|tojson }}", "{{ (n + n) * 1 > n }}",
	} {
		t.Run(template, func(t *testing.T) {
			t.Parallel()
			tpl, err := e.Compile(template)
			require.NoError(t, err)
			cost := func(size int) int64 {
				vars, err := jinja.DecodeVars([]byte(`{"s": "` + strings.Repeat("a", size) + `", "t": "` + strings.Repeat("a", size) + `", "u": "` + strings.Repeat("é", size) +
					`", "d": "` + strings.Repeat("7", size/10) + `", "l": [1` + strings.Repeat(",1", size) + `], "m": [1` + strings.Repeat(",1", size) + `]}`))
				require.NoError(t, err)
				n := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(size/50)), nil)
				numbers, err := jinja.DecodeVars([]byte(`{"n": ` + n.String() + `, "k": ` + n.String()[:size/100] + `}`))
				require.NoError(t, err)
				vars["n"], vars["k"] = numbers["n"], numbers["k"]
				steps, bytes, _ := tpl.Spent(t.Context(), vars) // Some templates fail; they are charged too.
				return steps + bytes/256
			}
			less, more := cost(small), cost(4*small)
			least := int64(3 * small / 512)
			if strings.Contains(template, "n ") || strings.Contains(template, "n|") { // Fewer digits, because this work grows faster.
				least = 1
			}
			require.GreaterOrEqual(t, more-less, least, "%d and %d", less, more)
		})
	}
}
