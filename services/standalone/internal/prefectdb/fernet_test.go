package prefectdb

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// The key and the token of generate.json of the Fernet specification, whose text is "hello".
const (
	specifiedKey   = "cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4="
	specifiedToken = "gAAAAAAdwJ6wAAECAwQFBgcICQoLDA0ODy021cpGVWKZ_eEwCGM4BLLF_5CV9dOPmrhuVUPgJobwOz7JcbmrR64jVmpU4IwqDA=="
)

func TestOpenATokenOfTheSpecification(t *testing.T) {
	t.Parallel()
	key, err := parseKey(specifiedKey)
	require.NoError(t, err)
	text, err := key.open(specifiedToken)
	require.NoError(t, err)
	require.Equal(t, "hello", string(text))
}

func TestKeysThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty":            "",
		"31 bytes":         base64.URLEncoding.EncodeToString(make([]byte, fernetKeySize-1)),
		"33 bytes":         base64.URLEncoding.EncodeToString(make([]byte, fernetKeySize+1)),
		"standard base64":  strings.NewReplacer("-", "+", "_", "/").Replace(specifiedKey),
		"without padding":  strings.TrimRight(specifiedKey, "="),
		"no base64 at all": "a key",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parseKey(text)
			require.Error(t, err)
		})
	}
}

// A token with another byte, or with fewer bytes, is refused without a panic, and so is every token without a key.
func TestChangedTokensAreRefused(t *testing.T) {
	t.Parallel()
	key, err := parseKey(specifiedKey)
	require.NoError(t, err)
	data, err := base64.URLEncoding.DecodeString(specifiedToken)
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		changed := append([]byte(nil), data[:rapid.IntRange(0, len(data)).Draw(t, "length")]...)
		if len(changed) == len(data) {
			changed[rapid.IntRange(0, len(data)-1).Draw(t, "position")] ^= rapid.ByteRange(1, 255).Draw(t, "bits")
		}
		_, err := key.open(base64.URLEncoding.EncodeToString(changed))
		require.ErrorIs(t, err, errToken)
	})
	_, err = fernetKey(nil).open(specifiedToken)
	require.ErrorIs(t, err, errToken)
}
