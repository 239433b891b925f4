package plan

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestIDSet compares a set of ids with a map.
func TestIDSet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		set, want := newIDSet(rapid.IntRange(0, 100).Draw(t, "size")), map[string]bool{}
		id := rapid.StringN(0, 3, 3)
		for _, s := range rapid.SliceOfN(id, 0, 300).Draw(t, "ids") {
			set.add([]byte(s))
			want[s] = true
		}
		require.Len(t, set.ends, len(want))
		for _, s := range rapid.SliceOfN(id, 0, 100).Draw(t, "looked up") {
			require.Equal(t, want[s], set.has([]byte(s)))
		}
		for s := range want {
			require.True(t, set.has([]byte(s)))
		}
	})
}
