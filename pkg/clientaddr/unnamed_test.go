package clientaddr_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clientaddr"
)

func TestUnnamedProxiesAreReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		trusted, err := clientaddr.ParseNetworks([]string{"10.0.0.0/8"})
		require.NoError(t, err)
		var log bytes.Buffer
		requests := clientaddr.NewUnnamedCounter()
		served := 0
		handler := clientaddr.NewUnnamed(trusted, requests, slog.New(slog.NewTextHandler(&log, nil))).Handler(
			http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
		send := func(peer, forwarded string) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			r.RemoteAddr = peer + ":80"
			if forwarded != "" {
				r.Header.Set("X-Forwarded-For", forwarded)
			}
			handler.ServeHTTP(httptest.NewRecorder(), r)
		}
		lines := func() int { return strings.Count(log.String(), "peer=") }

		send("10.1.2.3", "198.51.100.1") // A named proxy.
		send("203.0.113.7", "")
		require.Zero(t, lines())
		require.Zero(t, testutil.ToFloat64(requests))

		for range 3 {
			send("203.0.113.7", "198.51.100.1")
		}
		send("203.0.113.8", "198.51.100.1")
		require.Equal(t, 2, lines(), "once for a peer")
		require.Contains(t, log.String(), "peer=203.0.113.7")
		require.NotContains(t, log.String(), "198.51.100.1", "any client can write the header")
		require.InDelta(t, 4, testutil.ToFloat64(requests), 0)

		time.Sleep(time.Hour) //nolint:forbidigo // In the synctest bubble no real time passes.
		send("203.0.113.7", "198.51.100.1")
		require.Equal(t, 3, lines(), "once an hour")
		for i := range 1000 {
			send(fmt.Sprintf("192.0.%d.%d", i/256, i%256), "198.51.100.1")
		}
		require.LessOrEqual(t, lines(), 102, "the peers of an hour are bounded")
		require.Equal(t, 1007, served)
	})
}
