package auth_test

import (
	"encoding/base64"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/orch-project/orch/pkg/auth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBasic(t *testing.T) {
	t.Parallel()
	b, err := auth.ParseBasic("ada:love:lace")
	require.NoError(t, err)
	encode := base64.StdEncoding.EncodeToString
	for name, test := range map[string]struct {
		header string
		want   bool
	}{
		"right":          {"Basic " + encode([]byte("ada:love:lace")), true},
		"scheme's case":  {"basic " + encode([]byte("ada:love:lace")), true},
		"wrong password": {"Basic " + encode([]byte("ada:love")), false},
		"longer":         {"Basic " + encode([]byte("ada:love:laces")), false},
		"wrong user":     {"Basic " + encode([]byte("bob:love:lace")), false},
		"not encoded":    {"Basic ada:love:lace", false},
		"other scheme":   {"Bearer " + encode([]byte("ada:love:lace")), false},
		"bearer":         {"Bearer ada:love:lace", true},
		"wrong bearer":   {"Bearer ada:love", false},
		"empty bearer":   {"Bearer ", false},
		"empty":          {"", false},
		"no credentials": {"Basic", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, b.Allows(http.Header{"Authorization": {test.header}}))
		})
	}
	require.True(t, b.AllowsToken("ada:love:lace"))
	require.False(t, b.AllowsToken(""))
	require.True(t, b.Guessable())
	long, err := auth.ParseBasic("ada:0123456789abcdef")
	require.NoError(t, err)
	require.False(t, long.Guessable())
}

// TestSessionsStoreASlowDigest: whoever reads the sessions cannot test passwords at full speed, and another password ends them.
func TestSessionsStoreASlowDigest(t *testing.T) {
	t.Parallel()
	b, err := auth.ParseBasic("ada:lovelace")
	require.NoError(t, err)
	same, err := auth.ParseBasic("ada:lovelace")
	require.NoError(t, err)
	other, err := auth.ParseBasic("ada:lovelacf")
	require.NoError(t, err)
	require.NotEqual(t, auth.Digest("ada:lovelace"), b.SessionDigest())
	require.False(t, b.AllowsDigest(auth.Digest("ada:lovelace")))
	require.True(t, same.AllowsDigest(b.SessionDigest()), "in another process")
	require.False(t, other.AllowsDigest(b.SessionDigest()))
}

func TestParseBasicDoesNotRepeatTheSetting(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"", "canary", ":canary", "canary:"} {
		_, err := auth.ParseBasic(setting)
		require.ErrorIs(t, err, auth.ErrNoPassword)
		require.NotContains(t, err.Error(), "canary")
	}
}

func TestBearer(t *testing.T) {
	t.Parallel()
	token, ok := auth.Bearer(http.Header{"Authorization": {"Bearer abc"}})
	require.True(t, ok)
	require.Equal(t, "abc", token)
	for _, header := range []string{"", "Bearer", "Bearer ", "Basic abc"} {
		_, ok = auth.Bearer(http.Header{"Authorization": {header}})
		require.False(t, ok, header)
	}
	require.True(t, auth.Equal("a", "a"))
	require.False(t, auth.Equal("a", "ab"))
}

func TestKeyOfToken(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]string{
		"": "", "key": "key", "user:key": "key", ":key": "key", "user:": "", "user:key:more": "key:more",
	} {
		require.Equal(t, want, auth.KeyOfToken(token), token)
	}
}
