package grams_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/grams"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Letters whose other case has other bytes, parts of characters, and ASCII.
var pieces = []string{
	"a", "K", "k", "\u212a", "s", "S", "\u017f", "\u00df", "\u1e9e", "\u0130", "i", "\u0131", "I", "\u00e9", "\u00c9", "\u03c3", "\u03c2", "\u03a3",
	"\u01c4", "\u01c5", "\u01c6", "\ufffd", "\xff", "\xc3", "\xe2\x84", "\x00", "-", "1", "\u6771", "\U0001f600", "\u2c65", "\u023a", "\u1c80", "\u0432",
}

func text(maximal int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, maximal).Draw(t, "pieces"), "")
	})
}

// A text that an expression finds, with or without case, is a part of the folded text.
func TestFoldedLiteralsAreParts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in, needle := text(12).Draw(t, "text"), strings.ToValidUTF8(text(4).Draw(t, "needle"), "\ufffd")
		for _, flags := range []string{"", "(?i)"} {
			if regexp.MustCompile(flags + regexp.QuoteMeta(needle)).MatchString(in) {
				require.True(t, bytes.Contains(grams.Fold(nil, []byte(in)), grams.Fold(nil, []byte(needle))), "%q in %q", needle, in)
			}
		}
	})
}

func TestGrams(t *testing.T) {
	t.Parallel()
	require.Equal(t, "ks kkss\u00df\ufffd", string(grams.Fold(nil, []byte("KS k\u212as\u017f\u1e9e\xff"))))
	var got []string
	grams.Of([]byte("ababc"), func(g grams.Gram) { got = append(got, string(g.Append(nil))) })
	require.Equal(t, []string{"aba", "bab", "abc"}, got)
	grams.Of([]byte("ab"), func(grams.Gram) { t.Error("a text of two bytes has no trigram") })
	require.Len(t, grams.Distinct([]byte("abcdefghijklmnop"), 5), 5)
	require.Equal(t, "abc", string(grams.Distinct([]byte("abcdefghijklmnop"), 5)[0].Append(nil)))
	require.Equal(t, "nop", string(grams.Distinct([]byte("abcdefghijklmnop"), 5)[4].Append(nil)))
	require.Len(t, grams.Distinct([]byte("aaaaaa"), 5), 1)
	require.False(t, utf8.Valid(grams.Any.Append(nil)))
}

// A set behaves as a map does.
func TestSet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var set grams.Set
		model := map[grams.Gram]bool{}
		for _, n := range rapid.SliceOf(rapid.Uint32Range(0, 0xffffff)).Draw(t, "grams") {
			g := grams.Gram(n)
			require.Equal(t, model[g], set.Has(g))
			require.Equal(t, !model[g], set.Add(g))
			model[g] = true
		}
		for g := range model {
			require.True(t, set.Has(g))
		}
		require.False(t, set.Has(grams.Any) && !model[grams.Any])
	})
}
