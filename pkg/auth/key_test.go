package auth_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/auth"
)

func TestKeysAre256RandomBits(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		key, digest := auth.NewKey("onu_")
		require.Regexp(t, `^onu_[a-z2-7]{52}$`, key)
		require.True(t, auth.KeyShaped(key))
		require.Regexp(t, `^[0-9a-f]{64}$`, digest)
		require.Equal(t, auth.Digest(key), digest)
		require.NotContains(t, digest, key[4:])
		require.False(t, seen[key])
		seen[key] = true
		require.False(t, auth.KeyShaped(key+"a"))
		require.False(t, auth.KeyShaped(key[1:]))
		require.False(t, auth.SameDigest(digest, auth.Digest(key[:len(key)-1]+"!")))
		require.True(t, auth.SameDigest(digest, auth.Digest(key)))
	}
	for _, token := range []string{"", "_", "onu_", "user:password", "onu_" + string(make([]byte, 52))} {
		require.False(t, auth.KeyShaped(token), token)
	}
}
