package standalone_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/auth"
)

var socketPaths = []string{"/events/in", "/events/out", "/logs/out", "/deliveries/out", "/task_runs/subscriptions/scheduled", "/work_pools/p/workers/connect"}

func TestSocketsGreet(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	for _, path := range socketPaths {
		for _, subprotocol := range []string{"orch", "prefect"} {
			c := s.dial(path, subprotocol, nil)
			c.send(`{"type":"auth","token":null}`)
			require.JSONEq(t, `{"type":"auth_success"}`, c.receive())
		}
		for _, first := range []string{`{"type":"event"}`, `nonsense`, `[]`, `{"type":"auth","token":7}`, strings.Repeat(" ", 20_000)} {
			c := s.dial(path, "prefect", nil)
			c.send(first)
			code, reason := c.closed()
			if len(first) > 1000 {
				require.Equal(t, websocket.StatusMessageTooBig, code)
				continue
			}
			require.Equal(t, websocket.StatusPolicyViolation, code, first)
			require.Equal(t, "Expected 'auth' message", reason)
		}
	}
	for _, path := range []string{"/work_pools/workers/connect", "/work_pools/p/q/workers/connect", "/events/up", "/flows/"} {
		_, status, _, err := s.tryDial(path, "prefect", nil)
		require.Error(t, err)
		require.Equal(t, http.StatusNotFound, status, path)
	}
	require.Equal(t, http.StatusNotFound, s.ask(http.MethodGet, "/events/in", "", nil), "no upgrade, no socket")
	_, status, _, err := s.tryDial("/v1/events/in", "prefect", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, status)
	_, status, _, err = s.tryDial("/events/in", "prefect", http.Header{"Origin": {"http://evil.example"}})
	require.Error(t, err)
	require.Equal(t, http.StatusForbidden, status)
}

func TestSocketsAuthenticate(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), "ORCH_AUTH_BASIC=user:pass")
	for _, path := range socketPaths {
		for first, want := range map[string]string{
			`{"type":"auth","token":null}`:        "Auth required but no token provided",
			`{"type":"auth"}`:                     "Auth required but no token provided",
			`{"type":"auth","token":"user:nope"}`: "Invalid token",
		} {
			c := s.dial(path, "prefect", nil)
			c.send(first)
			code, reason := c.closed()
			require.Equal(t, websocket.StatusPolicyViolation, code)
			require.Equal(t, want, reason)
		}
		c := s.dial(path, "prefect", nil)
		c.send(`{"type":"auth","token":"user:pass"}`)
		require.JSONEq(t, `{"type":"auth_success"}`, c.receive())

		code, reason := s.dial(path, "", nil).closed()
		require.Equal(t, websocket.StatusPolicyViolation, code, "a legacy client cannot send a token")
		require.Contains(t, reason, "set PREFECT_CLOUD_API_URL")
		_, status, _, err := s.tryDial(path, "", http.Header{"Authorization": {"Bearer user:nope"}})
		require.Error(t, err)
		require.Equal(t, http.StatusUnauthorized, status)
		for _, credential := range []string{"Basic dXNlcjpwYXNz", "Bearer user:pass"} {
			s.dial(path, "", http.Header{"Authorization": {credential}})
		}
	}
	_, status, _, err := s.tryDial("/work_pools/p/workers/stop", "prefect", nil)
	require.Error(t, err)
	require.Equal(t, http.StatusNotFound, status, "an unknown path is unknown to all")
}

// TestSocketsTakeKeys: the first message carries a key as HTTP does, alone or as the password of user:key, and the
// close reason names the setting of clients that send none.
func TestSocketsTakeKeys(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "prefect")
	s := &server{t: t, http: h.http, api: h.root}
	other, _ := auth.NewKey("pnu_")
	const (
		none  = "Auth required but no token provided; set PREFECT_API_AUTH_STRING=user:KEY"
		wrong = "Invalid token; set PREFECT_API_AUTH_STRING=user:KEY with a valid API key"
	)
	for _, base := range []string{"", workspacePath} {
		for _, path := range socketPaths {
			for _, token := range []string{h.owner, "user:" + h.owner, ":" + h.owner} {
				c := s.dial(base+path, "prefect", nil)
				c.send(fmt.Sprintf(`{"type":"auth","token":%q}`, token))
				require.JSONEq(t, `{"type":"auth_success"}`, c.receive(), path)
			}
			for first, want := range map[string]string{
				`{"type":"auth","token":null}`:                  none,
				`{"type":"auth"}`:                               none,
				`{"type":"auth","token":""}`:                    none,
				`{"type":"auth","token":"user:"}`:               wrong,
				`{"type":"auth","token":"user:pass"}`:           wrong,
				`{"type":"auth","token":"` + h.owner + `:"}`:    wrong,
				`{"type":"auth","token":"a:b:` + h.owner + `"}`: wrong,
				`{"type":"auth","token":"user:` + other + `"}`:  wrong,
			} {
				c := s.dial(base+path, "prefect", nil)
				c.send(first)
				code, reason := c.closed()
				require.Equal(t, websocket.StatusPolicyViolation, code, first)
				require.Equal(t, want, reason, first)
			}
			s.dial(base+path, "", http.Header{"Authorization": {"bearer " + h.owner}})
		}
	}
}

func TestSocketsAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), "ORCH_GATEWAY_MAX_SOCKETS=2")
	one, _ := s.open("/events/in"), s.open("/events/in")
	_, status, header, err := s.tryDial("/events/in", "prefect", nil)
	require.Error(t, err)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.NotEmpty(t, header.Get("Retry-After"))
	require.NoError(t, one.Close(websocket.StatusNormalClosure, ""))
	require.Eventually(t, func() bool {
		_, _, _, err := s.tryDial("/events/in", "prefect", nil)
		return err == nil
	}, waitTimeout, tick)
}

func TestSocketsEndWithTheServer(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	in, out, silent := s.open("/events/in"), s.open("/events/out"), s.dial("/events/out", "prefect", nil)
	out.send(`{"type":"filter","filter":{}}`)
	codes := make(chan websocket.StatusCode, 3)
	for _, c := range []*client{in, out, silent} {
		go func() {
			code, _ := c.closed()
			codes <- code
		}()
	}
	s.stop()
	for range 3 {
		require.Equal(t, websocket.StatusServiceRestart, <-codes)
	}
}
