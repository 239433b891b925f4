package standalone_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// dialSocket opens a websocket with a header and returns the status of the answer.
func (h *hosted) dialSocket(path, key string) (*websocket.Conn, int) {
	h.t.Helper()
	header := http.Header{}
	if key != "" {
		header.Set("Authorization", "Bearer "+key)
	}
	url := strings.Replace(h.root, "http", "ws", 1) + path
	options := &websocket.DialOptions{HTTPHeader: header, Subprotocols: []string{"orch"}}
	c, response, err := websocket.Dial(h.t.Context(), url, options) //nolint:bodyclose // Dial leaves none open.
	require.NotNil(h.t, response, "%v", err)
	if err == nil {
		h.t.Cleanup(func() { _ = c.CloseNow() })
	}
	return c, response.StatusCode
}

// TestStrangersLeaveSocketsToOthers: clients that send nothing use up neither the server's sockets nor those of others.
func TestStrangersLeaveSocketsToOthers(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch", "ORCH_GATEWAY_MAX_SOCKETS", "5")
	refused := 0
	for range 100 {
		if _, status := h.dialSocket("/events/out", ""); status == http.StatusServiceUnavailable {
			refused++
		}
	}
	require.Positive(t, refused, "an address has a bound of its own")
	_, status := h.dialSocket("/events/in", h.owner)
	require.Equal(t, http.StatusSwitchingProtocols, status)
}

// TestAnAccountLeavesSocketsToOthers: one key holds no more than its account may have.
func TestAnAccountLeavesSocketsToOthers(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch", "ORCH_GATEWAY_MAX_SOCKETS", "4")
	second := h.tenant("second")
	open := func(path, key string) websocket.StatusCode {
		c, status := h.dialSocket(path, "")
		if status != http.StatusSwitchingProtocols {
			return -1
		}
		k := &client{t, c}
		k.send(`{"type": "auth", "token": "` + key + `"}`)
		_, _, err := c.Read(t.Context())
		return websocket.CloseStatus(err)
	}
	require.EqualValues(t, -1, open("/events/out", h.owner), "auth_success")
	require.EqualValues(t, -1, open("/events/out", h.owner))
	require.Equal(t, websocket.StatusTryAgainLater, open("/events/out", h.owner), "the half of the account is in use")
	_, status := h.dialSocket("/events/out", h.owner)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.EqualValues(t, -1, open(second.workspacePath()+"/events/out", second.key), "another account has sockets")
}

// TestAWrongHeaderIsRefusedBeforeTheUpgrade although the first message could hold a valid key.
func TestAWrongHeaderIsRefusedBeforeTheUpgrade(t *testing.T) {
	t.Parallel()
	h := startHosted(t, "orch")
	for _, path := range []string{"/events/in", "/events/out", "/logs/out", "/deliveries/out", "/task_runs/subscriptions/scheduled", "/work_pools/p/workers/connect"} {
		_, status := h.dialSocket(path, "wrong")
		require.Equal(t, http.StatusUnauthorized, status, path)
		_, status = h.dialSocket(path, h.owner)
		require.Equal(t, http.StatusSwitchingProtocols, status, path)
	}
}
