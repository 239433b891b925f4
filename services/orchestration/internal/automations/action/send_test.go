package action

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/safedial"
)

// Targets that hang, or answer without end, end a call within its time and its limit of bytes. All of them are worth another
// attempt, and none quotes the address, which may be a secret.
func TestTargetsThatHang(t *testing.T) {
	t.Parallel()
	policy, err := safedial.ParsePolicy("127.0.0.1")
	require.NoError(t, err)
	r := &Runner{client: policy.Client(200 * time.Millisecond)}
	target := func(handle http.HandlerFunc) string {
		server := httptest.NewServer(handle)
		t.Cleanup(server.Close)
		return server.URL + "/secret"
	}
	mute, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0") // It accepts connections and reads nothing.
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, mute.Close()) })
	for name, address := range map[string]string{
		"no response": target(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
		"headers, then nothing": target(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}),
		"mute":      "http://" + mute.Addr().String() + "/secret",
		"redirects": target(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/secret", http.StatusFound) }),
	} {
		_, err := r.send(t.Context(), newMessage(http.MethodPost, address))
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "secret", name)
		result := unsent(newResult(), "Notification failed: ", err)
		require.True(t, result.transient, name)
		require.Contains(t, result.reason, "Notification failed: ", name)
	}
	endless, err := r.send(t.Context(), newMessage(http.MethodPost, target(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(strings.Repeat("x", 4*maxAnswer)))
	})))
	require.NoError(t, err)
	require.Len(t, endless.body, maxAnswer)
}
