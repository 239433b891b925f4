package gateway_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/services/gateway"
)

func TestStatusPage(t *testing.T) {
	t.Parallel()
	group := run.NewGroup(run.Options{})
	group.Health().Check("store", func() error { return errors.New("the <store> is away") })
	s := start(t, gateway.Deps{Health: group.Health(), InternalURL: "http://127.0.0.1:9400"})
	got := s.do(t, "GET", "/status", "", "Host: localhost:4200")
	require.Equal(t, 200, got.status)
	require.Equal(t, "text/html; charset=utf-8", got.header.Get("Content-Type"))
	for _, part := range []string{
		"http://localhost:4200/api", "http://localhost:4200/hooks/", "http://127.0.0.1:9400/metrics", "1.2.3", "0.8.4",
		"the &lt;store&gt; is away", "Not ready", ">7</span>", ">3</span>",
	} {
		require.Contains(t, got.body, part)
	}
}

func TestPagesWithoutServices(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{})
	s.domain.fail(status.Error(codes.Unavailable, "away"))
	got := s.do(t, "GET", "/", "", "Accept: text/html")
	require.Equal(t, 200, got.status)
	require.Contains(t, got.body, "does not respond")
	require.Equal(t, 200, s.do(t, "GET", "/status", "").status)
	got = s.do(t, "GET", "/runs", "", "Accept: text/html")
	require.Equal(t, 503, got.status)
	require.Contains(t, got.body, "Try again")
}

// TestPagesRunUnderAStrictPolicy guards that neither a page nor an event's text can run a script.
func TestPagesRunUnderAStrictPolicy(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{})
	inline := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|<script>|javascript:`)
	sheet := regexp.MustCompile(`/static/[0-9a-f]+/orch.css`).FindString(s.do(t, "GET", "/", "").body)
	require.NotEmpty(t, sheet)
	require.Contains(t, s.do(t, "GET", sheet, "").header.Get("Cache-Control"), "immutable")
	for _, path := range []string{"/", "/status", "/docs", "/docs/", sheet, "/favicon.ico", "/docs/explorer.js"} {
		got := s.do(t, "GET", path, "")
		require.Equal(t, 200, got.status, path)
		require.Contains(t, got.header.Get("Content-Security-Policy"), "default-src 'none'")
		require.NotContains(t, got.header.Get("Content-Security-Policy"), "unsafe")
		require.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"))
		require.Empty(t, inline.FindString(got.body), path)
	}
	for path, want := range map[string]int{"/static/": 404, "/static/../site.go": 404, "/docs/none.js": 404, "/metrics": 404, "/debug/pprof/": 404} {
		require.Equal(t, want, s.do(t, "GET", path, "").status, path)
	}
	require.Equal(t, 403, s.do(t, "POST", "/", "").status, "a form without its token")
	require.Equal(t, 405, s.do(t, "DELETE", "/", "").status)
}

func TestDescription(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{})
	var document struct {
		OpenAPI string         `json:"openapi"`
		Paths   map[string]any `json:"paths"`
	}
	got := s.do(t, "GET", "/api/openapi.json", "")
	require.Equal(t, 200, got.status)
	require.Equal(t, "application/json", got.header.Get("Content-Type"))
	require.NoError(t, json.Unmarshal([]byte(got.body), &document))
	require.Contains(t, document.Paths, "/flows/{id}")
	require.Equal(t, got.body, s.do(t, "GET", "/api/v1/openapi.json", "").body)

	require.Equal(t, got.body, s.do(t, "GET", "/docs/openapi.json", "").body, "for the explorer of a signed-in browser")

	etag := got.header.Get("ETag")
	again := s.do(t, "GET", "/api/openapi.json", "", "If-None-Match: "+etag)
	require.Equal(t, 304, again.status)
	require.Empty(t, again.body)
	require.Equal(t, "gzip", s.do(t, "GET", "/api/openapi.json", "", "Accept-Encoding: gzip").header.Get("Content-Encoding"))
	require.Equal(t, 405, s.do(t, "POST", "/api/openapi.json", "{}").status)
}
