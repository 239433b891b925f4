package authn_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/auth"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/services/gateway/internal/address"
	"github.com/orch-project/orch/services/gateway/internal/authn"
)

func newGuard(t *testing.T, options authn.Options) *authn.Guard {
	t.Helper()
	addresses, err := address.New(address.Options{})
	require.NoError(t, err)
	options.Resolver = addresses
	return authn.New(options)
}

func TestTokensOfWebsockets(t *testing.T) {
	t.Parallel()
	require.NoError(t, newGuard(t, authn.Options{}).Token("anything"), "a server without authentication asks for none")

	basic, err := auth.ParseBasic("ada:secret")
	require.NoError(t, err)
	guard := newGuard(t, authn.Options{Basic: &basic})
	require.NoError(t, guard.Token("ada:secret"))
	for token, want := range map[string]string{"": "no token", "ada": "Invalid", "ada:secret ": "Invalid", "ADA:secret": "Invalid"} {
		answer := rpc.HTTPError(guard.Token(token))
		require.Equal(t, int32(http.StatusUnauthorized), answer.GetStatus(), token)
		require.Contains(t, answer.GetDetail(), want, token)
	}
}

// A caller that forgets to ask Keys must not let anybody in by that.
func TestGuardWithKeysLetsNobodyIn(t *testing.T) {
	t.Parallel()
	guard := newGuard(t, authn.Options{Keys: true})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/api/flows", nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer onu_anything")
	require.Equal(t, int32(http.StatusUnauthorized), rpc.HTTPError(guard.Credentials(r)).GetStatus())
}
