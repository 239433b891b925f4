package address_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/services/gateway/internal/address"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSplitKeepsEveryByte: the prefix and the rest are the path, whatever the client wrote.
func TestSplitKeepsEveryByte(t *testing.T) {
	t.Parallel()
	segment := rapid.SampledFrom([]string{
		"", "api", "v1", "v2", "flows", "a%2Fb", "%20", "accounts", "workspaces", "00000000-0000-8000-8000-00000000000a", "ü", "x y",
	})
	rapid.Check(t, func(t *rapid.T) {
		path := "/api"
		for range rapid.IntRange(0, 7).Draw(t, "segments") {
			path += "/" + segment.Draw(t, "segment")
		}
		plain, err := url.PathUnescape(path)
		require.NoError(t, err)
		u := &url.URL{Path: plain, RawQuery: "q=1"}
		if plain != path {
			u.RawPath = path
		}
		split, ok := address.Split(u)
		if !ok {
			return
		}
		rest := split.URL.RawPath
		if rest == "" {
			rest = split.URL.Path
		}
		require.Equal(t, path, split.Prefix+rest)
		require.Equal(t, "q=1", split.URL.RawQuery)
		back, err := url.PathUnescape(rest)
		require.NoError(t, err)
		require.Equal(t, back, split.URL.Path)
	})
}
