package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/gateway"
)

func TestHooksAreServedInProcess(t *testing.T) {
	t.Parallel()
	hooks := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Method, " ", r.URL.EscapedPath()) })
	s := start(t, gateway.Deps{Hooks: hooks})
	require.Equal(t, "PUT /hooks/a%2Fb", s.do(t, "PUT", "/hooks/a%2Fb", "").body)
	require.Equal(t, 404, s.do(t, "GET", "/hooksx", "").status)
}

// TestHooksArePassedOnAsTheyCame guards signatures, which are made over the request's bytes.
func TestHooksArePassedOnAsTheyCame(t *testing.T) {
	t.Parallel()
	type seen struct {
		host, uri, body string
		header          http.Header
	}
	got := make(chan seen, 1)
	hooks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		got <- seen{r.Host, r.RequestURI, string(body), r.Header}
		w.Header().Set("X-From-Hooks", "yes")
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(hooks.Close)
	s := start(t, gateway.Deps{}, func(c *gateway.Config) { c.HooksAddr = strings.TrimPrefix(hooks.URL, "http://") })
	answer := s.do(t, "POST", "/hooks/slug%2Fx?a=1;b=%zz&c", "the body", "Host: hooks.example.com",
		"X-Signature: s", "X-Forwarded-For: 10.0.0.1", "X-Forwarded-Proto: https", "Accept: */*", "Content-Type: text/odd")
	require.Equal(t, 204, answer.status)
	require.Equal(t, "yes", answer.header.Get("X-From-Hooks"))
	request := <-got
	require.Equal(t, "hooks.example.com", request.host)
	require.Equal(t, "/hooks/slug%2Fx?a=1;b=%zz&c", request.uri)
	require.Equal(t, "the body", request.body)
	require.Equal(t, http.Header{
		"X-Signature":       {"s"},
		"X-Forwarded-For":   {"10.0.0.1", "127.0.0.1"},
		"X-Forwarded-Proto": {"https"},
		"Accept":            {"*/*"},
		"Content-Type":      {"text/odd"},
		"Content-Length":    {"8"},
		"User-Agent":        {"Go-http-client/1.1"}, // The test's own client.
	}, request.header)
}

func TestHooksThatAreAwayAre503(t *testing.T) {
	t.Parallel()
	s := start(t, gateway.Deps{}) // Port 1: nobody is there.
	got := s.do(t, "POST", "/hooks/slug", "x")
	require.Equal(t, 503, got.status)
	require.NotEmpty(t, got.header.Get("Retry-After"))
}
