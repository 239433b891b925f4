package cli_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/standalone/internal/cli"
)

// output collects what a command prints while it runs.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// forwarded is a request that a program received.
type forwarded struct {
	method, path, query, body string
	header                    http.Header
}

// program is a local program that receives requests.
func program(t *testing.T) (requests chan forwarded, address string) {
	t.Helper()
	requests = make(chan forwarded, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- forwarded{r.Method, r.URL.Path, r.URL.RawQuery, string(body), r.Header}
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "queued")
	}))
	t.Cleanup(s.Close)
	return requests, s.URL
}

// listen runs the command until the returned function ends it.
func listen(t *testing.T, input io.Reader, args ...string) (out *output, end func() error) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	out = &output{}
	cmd := cli.New("test")
	cmd.SetArgs(append([]string{"listen"}, args...))
	cmd.SetIn(input)
	cmd.SetOut(out)
	cmd.SetErr(out)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- cmd.ExecuteContext(ctx) }()
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "Listening.") }, 20*time.Second, 5*time.Millisecond)
	return out, func() error {
		cancel()
		return <-done
	}
}

// TestListenForwardsRequests as they were sent, signed again, and again on request.
func TestListenForwardsRequests(t *testing.T) {
	s, _ := newShell(t)
	secret := file(t, "secret.txt", "correct-horse battery-staple\n")
	requests, address := program(t)
	s.run("webhook", "create", "desk", "-t", pushTemplate, "--scheme", "github", "--secret-file", secret)
	keys, typed := io.Pipe()
	out, end := listen(t, keys, "desk", "--forward", address+"/hooks", "--secret-file", secret, "--filter", `body.repository != "quiet"`)
	send := func(repository string) {
		s.run("webhook", "test", "desk", "--data", `{"repository": "`+repository+`"}`, "--header", "X-Note: a", "--header", "X-Api-Key: k-0123456789",
			"--query", "a=1", "--path", "start", "--sign", "--secret-file", secret, "--send")
	}
	send("quiet")
	send("orch")
	got := <-requests
	require.Equal(t, `{"repository": "orch"}`, got.body, "the filter drops the other one")
	require.Equal(t, []string{"POST", "/hooks/start", "a=1", "a"}, []string{got.method, got.path, got.query, got.header.Get("X-Note")})
	require.NotContains(t, got.header, "X-Api-Key", "the log masks it")
	require.Contains(t, got.header.Get("X-Hub-Signature-256"), "sha256=")
	require.NotEmpty(t, got.header.Get("Orch-Delivery-Id"))
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "queued") }, 20*time.Second, 5*time.Millisecond, "the answer is shown")
	_, err := fmt.Fprintln(typed, "r")
	require.NoError(t, err)
	again := <-requests
	require.Equal(t, got.header.Get("Orch-Delivery-Id"), again.header.Get("Orch-Delivery-Id"))
	require.NoError(t, typed.Close())
	require.NoError(t, end())
	require.NotContains(t, out.String(), "quiet")
	require.Contains(t, out.String(), "202 Accepted")
}

// TestListenShowsWhatItCannotForward: refused requests, and those for a program that does not run.
func TestListenShowsWhatItCannotForward(t *testing.T) {
	s, _ := newShell(t)
	s.run("webhook", "create", "desk", "-t", pushTemplate, "--method", "POST")
	out, end := listen(t, strings.NewReader(""), "--forward", "http://127.0.0.1:1")
	s.run("webhook", "test", "desk", "--method", "PUT", "--send")
	require.Eventually(t, func() bool {
		return strings.Contains(out.String(), "not forwarded: The request ended before its sender was verified.")
	}, 20*time.Second, 5*time.Millisecond)
	s.run("webhook", "test", "desk", "--data", `{"repository": "orch"}`, "--send")
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "failed to forward: ") }, 20*time.Second, 5*time.Millisecond)
	require.NoError(t, end())
}

func TestListenRefusesBadArguments(t *testing.T) {
	s, _ := newShell(t)
	for _, args := range [][]string{
		{"--forward", "localhost:3000"},
		{"--forward", "ftp://localhost"},
		{"--filter", "body.a =="},
		{"--since", "-1h"},
		{"--forward", "http://localhost", "--secret", "a secret"},
		{"a", "b"},
	} {
		_, err := s.try("", append([]string{"listen"}, args...)...)
		require.Equal(t, 2, cli.ExitCode(err), args)
	}
	_, err := s.try("", "listen", "nobody")
	require.ErrorContains(t, err, "nobody")
}
