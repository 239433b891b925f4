package hooksproxy_test

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/tlsfiles"
	"github.com/orch-project/orch/services/gateway/internal/hooksproxy"
)

// Over TLS the proxy presents its certificate, and checks that of the hooks service.
func TestProxyOverTLS(t *testing.T) {
	t.Parallel()
	now, quiet := time.Now(), slog.New(slog.DiscardHandler)
	load := func(a *testkit.Authority) *tlsfiles.Files {
		c := a.Issue(t.TempDir(), now.Add(-time.Hour), now.Add(time.Hour))
		files, err := tlsfiles.Load(tlsfiles.Settings{Cert: c.Cert, Key: c.Key, CA: c.CA}, tlsfiles.Options{Log: quiet})
		require.NoError(t, err)
		return files
	}
	ours, others := testkit.NewAuthority(t, now), testkit.NewAuthority(t, now)
	hooks := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) != 1 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	hooks.TLS = load(ours).Server(tls.VerifyClientCertIfGiven)
	hooks.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	hooks.StartTLS()
	t.Cleanup(hooks.Close)

	status := func(files *tlsfiles.Files) int {
		p, err := hooksproxy.New("https://"+hooks.Listener.Addr().String(), files, quiet)
		require.NoError(t, err)
		defer p.Close()
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hooks/slug", nil))
		return w.Code
	}
	require.Equal(t, http.StatusNoContent, status(load(ours)))
	require.Equal(t, http.StatusServiceUnavailable, status(load(others)), "another authority")
	require.Equal(t, http.StatusServiceUnavailable, status(nil), "not an authority of the system")
}
