package telemetry_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/telemetry"
)

// serveInternal serves an internal address until the test ends, and returns a function that asks it.
func serveInternal(t *testing.T, options ...telemetry.InternalOption) func(host, path string) (status int) {
	t.Helper()
	internal, err := telemetry.NewInternal("127.0.0.1:0", telemetry.NewRegistry("test", "1"), nil, options...)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- internal.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return func(host, path string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+internal.Addr().String()+path, nil)
		require.NoError(t, err)
		r.Host = host
		response, err := client.Do(r)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
}

func TestTheInternalListenerRefusesForeignHosts(t *testing.T) {
	t.Parallel()
	status := serveInternal(t, telemetry.AllowHosts("Metrics.example.com", " orch "))
	for host, want := range map[string]int{
		"127.0.0.1:9400": http.StatusOK, "localhost:9400": http.StatusOK, "[::1]:9400": http.StatusOK, "10.0.0.7:9400": http.StatusOK,
		"metrics.example.com": http.StatusOK, "METRICS.example.com.:9400": http.StatusOK, "orch:9400": http.StatusOK,
		"evil.example:9400": http.StatusForbidden, "localhost.evil.example": http.StatusForbidden, "127.0.0.1.evil.example": http.StatusForbidden,
		"127.1": http.StatusForbidden, "gateway": http.StatusForbidden,
	} {
		for _, path := range []string{"/metrics", "/debug/pprof/cmdline", "/nothing"} {
			want := want
			if path == "/nothing" && want == http.StatusOK {
				want = http.StatusNotFound
			}
			require.Equal(t, want, status(host, path), "%s %s", host, path)
		}
	}
}

func TestProfilesAreBehindASetting(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		settings telemetry.InternalSettings
		want     int
	}{
		"by default": {telemetry.InternalSettings{}, http.StatusNotFound},
		"set":        {telemetry.InternalSettings{Profiles: true}, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status := serveInternal(t, test.settings.Options()...)
			require.Equal(t, test.want, status("localhost", "/debug/pprof/cmdline"))
			require.Equal(t, test.want, status("localhost", "/debug/pprof/"))
			require.Equal(t, http.StatusOK, status("localhost", "/metrics"))
		})
	}
	status := serveInternal(t)
	for _, seconds := range []string{"3600", "1e9", "NaN"} {
		require.Equal(t, http.StatusBadRequest, status("localhost", "/debug/pprof/profile?seconds="+seconds))
	}
}
