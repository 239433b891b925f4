package show_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/services/gateway/internal/web/show"
)

func TestPrefixCutsNoCharacter(t *testing.T) {
	t.Parallel()
	require.Equal(t, "aé", show.Prefix("aéz", 3))
	require.Equal(t, "a", show.Prefix("aéz", 2))
	require.Empty(t, show.Prefix("é", 1))
	rapid.Check(t, func(t *rapid.T) {
		text, length := rapid.String().Draw(t, "text"), rapid.IntRange(0, 40).Draw(t, "length")
		got := show.Prefix(text, length)
		require.True(t, strings.HasPrefix(text, got) && utf8.ValidString(got))
		require.LessOrEqual(t, len(got), length)
		require.Greater(t, len(got)+utf8.UTFMax, min(len(text), length))
	})
}
