package filter

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestPatternsAgreeWithTheirExpressions compares searches for texts with the regular expression itself. The letters include those
// whose other case is not ASCII, and the expressions those that are no searches.
func TestPatternsAgreeWithTheirExpressions(t *testing.T) {
	t.Parallel()
	letters := []string{"a", "A", "k", "K", "\u212a", "s", "S", "\u017f", "ß", "é", "É", "-", ".", "\n", "\x00", "\ufffd"}
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(letters), 0, 6).Draw(t, "letters"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		expression := rapid.SampledFrom([]string{"", "(?i)", "(?m)", "(?is)"}).Draw(t, "flags") + rapid.SampledFrom([]string{"", "^"}).Draw(t, "anchor")
		for i, part := range rapid.SliceOfN(text, 1, 3).Draw(t, "parts") {
			if i > 0 {
				expression += rapid.SampledFrom([]string{`[\s\S]*`, `[\s\S]*`, `.*`, `a+`, `$`}).Draw(t, "between")
			}
			expression += regexp.QuoteMeta(part)
		}
		p, err := compilePattern(expression)
		require.NoError(t, err)
		for range 20 {
			value := text.Draw(t, "value") + text.Draw(t, "value")
			require.Equal(t, p.re.MatchString(value), p.match([]byte(value)), "%q in %q", expression, value)
		}
	})
}

// TestSearchesNeedNoAutomaton: the expressions of like_, startswith_ and text searches are recognised.
func TestSearchesNeedNoAutomaton(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]bool{
		"(?i)run-7": true, "(?i)^run-7": true, `(?i)a\.b[\s\S]*c`: true, "run": true, "(?i)K": true,
		"(?i)é": false, "a.c": false, "a|b": false, "(?m)^a": false, "a$": false, "": false,
	} {
		p, err := compilePattern(expression)
		require.NoError(t, err)
		require.Equal(t, want, p.texts != nil, expression)
	}
}

func BenchmarkPattern(b *testing.B) {
	for name, value := range map[string]string{"name": "brave-otter-1234", "payload": strings.Repeat(`{"level": "info", "text": "started"}`, 30)} {
		p, err := compilePattern("(?i)nightly")
		require.NoError(b, err)
		for how, match := range map[string]func([]byte) bool{"texts": p.match, "automaton": p.re.Match} {
			b.Run(name+"/"+how, func(b *testing.B) {
				for b.Loop() {
					match([]byte(value))
				}
			})
		}
	}
}
