package hooksproxy_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/gateway/internal/hooksproxy"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestTargets(t *testing.T) {
	t.Parallel()
	for target, ok := range map[string]bool{
		"127.0.0.1:4201": true, "http://hooks:4201": true, "https://hooks/": true,
		"": false, "hooks": false, "ftp://hooks:1": false, "http://": false, "http://hooks:4201/path": false, "http://ho oks": false,
	} {
		p, err := hooksproxy.New(target, nil, slog.New(slog.DiscardHandler))
		require.Equal(t, ok, err == nil, "%q: %v", target, err)
		if ok {
			p.Close()
		}
	}
}

// proxy is a server in front of another one, with what the latter got.
func proxy(t *testing.T, behind http.HandlerFunc) (front *httptest.Server) {
	t.Helper()
	hooks := httptest.NewServer(behind)
	t.Cleanup(hooks.Close)
	p, err := hooksproxy.New(hooks.URL, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(p.Close)
	front = httptest.NewServer(p)
	t.Cleanup(front.Close)
	return front
}

// The signed parts must arrive as they were sent.
func TestARequestArrivesAsItCame(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body []byte
	front := proxy(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusNoContent)
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL+"/hooks/slug?b=2&a=%20;x&&", strings.NewReader(" {raw} "))
	require.NoError(t, err)
	r.Host = "public.example"
	r.Header.Set("X-Forwarded-For", "192.0.2.1")
	r.Header.Set("X-Forwarded-Proto", "https")
	r.Header.Set("X-Signature", "s")
	r.Header.Set("Connection", "X-Hop")
	r.Header.Set("X-Hop", "gone")
	answer, err := front.Client().Do(r)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusNoContent, answer.StatusCode)
	require.Equal(t, "/hooks/slug", got.URL.Path)
	require.Equal(t, "b=2&a=%20;x&&", got.URL.RawQuery)
	require.Equal(t, "public.example", got.Host)
	require.Equal(t, []string{"192.0.2.1", "127.0.0.1"}, strings.Split(strings.Join(got.Header.Values("X-Forwarded-For"), ", "), ", "))
	require.Equal(t, "https", got.Header.Get("X-Forwarded-Proto"))
	require.Equal(t, "s", got.Header.Get("X-Signature"))
	require.Empty(t, got.Header.Get("X-Hop"))
	require.Equal(t, " {raw} ", string(body))
}

func TestHooksThatAreAwayAreTriedAgain(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	p, err := hooksproxy.New(gone.URL, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer p.Close()
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hooks/slug", nil))
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	require.Empty(t, w.Body.String())
}
