package store_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// absentDatabase refuses connections until it is there.
type absentDatabase struct {
	server  *embeddedmongo.Server
	present atomic.Bool
	refused atomic.Int64
	enough  chan struct{}
}

func (a *absentDatabase) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if a.present.Load() {
		return a.server.ContextDialer().DialContext(ctx, network, address)
	}
	if a.refused.Add(1) == 5 {
		close(a.enough)
	}
	return nil, &net.OpError{Op: "dial", Err: context.DeadlineExceeded}
}

// A database that is away at the start is one line in the log, and another one when it is there.
func TestOpenWaitsForTheDatabase(t *testing.T) {
	t.Parallel()
	server, err := embeddedmongo.Open(t.TempDir(), embeddedmongo.Options{NoSync: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	away := &absentDatabase{server: server, enough: make(chan struct{})}
	go func() {
		<-away.enough
		away.present.Store(true)
	}()
	var log bytes.Buffer
	s, err := store.Open(t.Context(), store.Config{
		URI: server.URI(), Database: "orch", Dialer: away, Clock: clock.System{}, IDs: id.System(),
		Wait: true, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Client: func(o *options.ClientOptions) {
			o.SetTimeout(time.Second).SetServerSelectionTimeout(50 * time.Millisecond)
		},
	})
	require.NoError(t, err)
	require.NoError(t, s.Close(t.Context()))
	require.Equal(t, 1, strings.Count(log.String(), "waiting"), log.String())
	require.Equal(t, 2, strings.Count(log.String(), "\n"), log.String())
}

// A server whose certificate is not trusted, or that has no TLS, is refused at once with the remedy.
func TestOpenRefusesCertificates(t *testing.T) {
	t.Parallel()
	handler := http.NotFoundHandler()
	untrusted, plain := httptest.NewUnstartedServer(handler), httptest.NewServer(handler)
	untrusted.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	t.Cleanup(plain.Close)
	for remedy, address := range map[string]string{
		"tlsCAFile":        untrusted.Listener.Addr().String(),
		"server has no TL": plain.Listener.Addr().String(),
	} {
		_, err := store.Open(t.Context(), store.Config{
			URI: "mongodb://" + address + "/?directConnection=true&tls=true", Database: "orch", Clock: clock.System{}, IDs: id.System(), Wait: true,
		})
		require.ErrorIs(t, err, store.ErrServer)
		require.ErrorContains(t, err, remedy)
		require.NotContains(t, err.Error(), "\n", "one line")
	}
}
