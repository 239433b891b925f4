package match_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/match"
)

// fits is the definition of a glob, by recursion over characters.
func fits(pattern, text []rune, stars bool) bool {
	if len(pattern) == 0 {
		return len(text) == 0
	}
	first := func(rest []rune, in bool) bool { return in && fits(rest, text[1:], stars) }
	switch {
	case pattern[0] == '*':
		return fits(pattern[1:], text, stars) || len(text) > 0 && fits(pattern, text[1:], stars)
	case len(text) == 0:
		return false
	case pattern[0] == '?' && !stars:
		return first(pattern[1:], true)
	case pattern[0] == '[' && !stars:
		begin := 1
		if len(pattern) > 1 && pattern[1] == '!' {
			begin = 2
		}
		closes := begin + 1 // The first character of a set is one of it, even a bracket.
		for closes < len(pattern) && pattern[closes] != ']' {
			closes++
		}
		if closes < len(pattern) {
			in := false
			for set := pattern[begin:closes]; len(set) > 0; {
				if len(set) > 2 && set[1] == '-' {
					in = in || set[0] <= text[0] && text[0] <= set[2]
					set = set[3:]
					continue
				}
				in = in || set[0] == text[0]
				set = set[1:]
			}
			return first(pattern[closes+1:], in != (begin == 2))
		}
	}
	return first(pattern[1:], pattern[0] == text[0])
}

func TestGlobsFitTheirTexts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringOfN(rapid.SampledFrom([]rune("abé*?[]!-")), 0, 8, -1).Draw(t, "pattern")
		text := rapid.StringOfN(rapid.SampledFrom([]rune("abcé?[]!-")), 0, 6, -1).Draw(t, "text")
		glob, stars := match.CompileGlob(pattern), match.CompileStars(pattern)
		require.Equal(t, fits([]rune(pattern), []rune(text), false), glob.Fits(text))
		require.Equal(t, fits([]rune(pattern), []rune(text), true), stars.Fits(text))
		for _, g := range []match.Glob{glob, stars} {
			if exact, ok := g.Exact(); ok {
				require.Equal(t, exact == text, g.Fits(text))
			}
		}
	})
}

// BenchmarkHostileGlobs compiles patterns, and compares them with a text that they nearly fit.
func BenchmarkHostileGlobs(b *testing.B) {
	text := strings.Repeat("a", 1024)
	for name, pattern := range map[string]string{
		"one long segment": "*" + strings.Repeat("a", 1000) + "b", "many segments": strings.Repeat("*a", 500) + "b",
		"questions": "*" + strings.Repeat("?", 1000) + "b", "open brackets": "*" + strings.Repeat("[", 1000),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				g := match.CompileGlob(pattern)
				if g.Fits(text) {
					b.Fatal("it fits")
				}
			}
		})
	}
}

// Destinations take "?" and brackets in the names of events as they are.
func TestNamesWithStars(t *testing.T) {
	t.Parallel()
	f := match.NewNameFilter([]string{"a?.*", "[b].c"})
	for name, want := range map[string]bool{"a?.b": true, "ab.b": false, "a?.": false, "[b].c": true, "b.c": false, "[b].cd": false} {
		_, expected := f.Matches(&orchv1.ReceivedEvent{Event: name})
		require.Equal(t, want, expected, name)
	}
}
