package standalone_test

import (
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
)

// TestFramesBeyondTheLimit: the rest of a message is discarded, so that its sender reads why. A message of many times the limit ends
// the connection.
func TestFramesBeyondTheLimit(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	for _, c := range []struct {
		name  string
		bytes int
		want  websocket.StatusCode
	}{
		{"beyond", 1_600_000, websocket.StatusMessageTooBig},
		{"far beyond", 20_000_000, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			socket, _, err := websocket.Dial(t.Context(), //nolint:bodyclose // The library says that the body of an upgrade is never closed.
				"ws"+strings.TrimPrefix(s.api, "http")+"/events/in", &websocket.DialOptions{Subprotocols: []string{"prefect"}})
			require.NoError(t, err)
			defer socket.CloseNow()
			require.NoError(t, socket.Write(t.Context(), websocket.MessageText, []byte(`{"type": "auth", "token": null}`)))
			_, _, err = socket.Read(t.Context())
			require.NoError(t, err)
			_ = socket.Write(t.Context(), websocket.MessageText, []byte(strings.Repeat("x", c.bytes))) // The server may close during it.
			_, _, err = socket.Read(t.Context())
			require.Equal(t, c.want, websocket.CloseStatus(err))
		})
	}
}
