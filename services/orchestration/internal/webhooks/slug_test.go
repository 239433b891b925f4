package webhooks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestSlugsAre128RandomBitsForURLs(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		slug := newSlug()
		require.Regexp(t, `^[A-Za-z0-9_-]{22}$`, slug)
		require.False(t, seen[slug])
		seen[slug] = true
	}
}
