//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// TestCrowd opens as many websockets as ORCH_TEST_SOCKETS specifies. Most clients violate the protocol: they send
// nothing, request nothing, or never read what they requested. Clients that follow the protocol are not affected.
func TestCrowd(t *testing.T) {
	size, err := strconv.Atoi(os.Getenv("ORCH_TEST_SOCKETS"))
	if err != nil {
		t.Skip("ORCH_TEST_SOCKETS says no number; make e2e-crowd does")
	}
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			o := form.start(t)
			const auth, everything = `{"type":"auth","token":null}`, `{"type":"filter","filter":{}}`
			manners := []struct {
				path  string
				sends []string
			}{
				{"/events/out", nil},
				{"/events/in", []string{auth}},
				{"/events/out", []string{auth}},
				{"/events/out", []string{auth, everything}},
			}
			began := time.Now()
			crowd := make([]*websocket.Conn, size)
			defer func() {
				for _, c := range crowd {
					if c != nil {
						_ = c.CloseNow() // They leave without a close handshake.
					}
				}
			}()
			dialing, ctx := errgroup.WithContext(t.Context())
			dialing.SetLimit(64)
			for i := range crowd {
				dialing.Go(func() error {
					manner := manners[i%len(manners)]
					c, err := dial(ctx, o, manner.path)
					if err != nil {
						return fmt.Errorf("socket %d: %w", i, err)
					}
					crowd[i] = c
					for _, text := range manner.sends {
						if err := c.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
							return fmt.Errorf("socket %d: %w", i, err)
						}
					}
					return nil
				})
			}
			require.NoError(t, dialing.Wait())
			t.Logf("%d sockets after %.1f s", size, time.Since(began).Seconds())

			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			out, err := dial(ctx, o, "/events/out")
			require.NoError(t, err)
			defer out.CloseNow()
			out.SetReadLimit(-1)
			in, err := dial(ctx, o, "/events/in")
			require.NoError(t, err)
			defer in.CloseNow()
			for _, c := range []*websocket.Conn{out, in} {
				require.NoError(t, c.Write(ctx, websocket.MessageText, []byte(auth)))
				_, _, err = c.Read(ctx)
				require.NoError(t, err)
			}
			require.NoError(t, out.Write(ctx, websocket.MessageText, []byte(`{"type":"filter","filter":{"event":{"name":["crowd"]}}}`)))
			const watched = 100
			began = time.Now()
			for range watched {
				event, err := json.Marshal(map[string]any{
					"id": uuid.NewString(), "event": "crowd", "occurred": time.Now().UTC(), "resource": map[string]string{"orch.resource.id": "x"},
				})
				require.NoError(t, err)
				require.NoError(t, in.Write(ctx, websocket.MessageText, event))
			}
			for range watched {
				_, text, err := out.Read(ctx)
				require.NoError(t, err)
				require.Contains(t, string(text), `"crowd"`)
			}
			t.Logf("%d events seen after %.2f s", watched, time.Since(began).Seconds())
			require.NoError(t, WaitFor(ctx, o.API()+"/ready", http.StatusOK))
		})
	}
}

// dial opens a socket and sends nothing.
func dial(ctx context.Context, o *Orch, path string) (*websocket.Conn, error) {
	c, _, err := websocket.Dial(ctx, strings.Replace(o.API(), "http", "ws", 1)+path, &websocket.DialOptions{Subprotocols: []string{"orch"}}) //nolint:bodyclose // Dial leaves no body open.
	return c, err
}
