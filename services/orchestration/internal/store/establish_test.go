package store_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
	"github.com/orch-project/orch/pkg/id"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
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
	require.Equal(t, 1, strings.Count(log.String(), "failed to connect"), log.String())
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

// A connection string cannot weaken what a 204 promises, nor make rules read from secondaries.
func TestConnectionStringsDoNotChangeConcerns(t *testing.T) {
	t.Parallel()
	database := mongotest.Open(t, embeddedmongo.Options{NoSync: true})
	uri, err := url.Parse(database.URI)
	require.NoError(t, err)
	parameters := uri.Query()
	for name, value := range map[string]string{"readPreference": "secondary", "readConcernLevel": "local", "w": "1", "journal": "false"} {
		parameters.Set(name, value)
	}
	uri.RawQuery = parameters.Encode()
	commands := make(chan bson.Raw, 10)
	s, err := store.Open(t.Context(), store.Config{
		URI: uri.String(), Database: database.Name, Dialer: database.Dialer, Clock: clock.System{}, IDs: id.System(),
		Client: func(o *options.ClientOptions) {
			require.Equal(t, readpref.PrimaryMode, o.ReadPreference.Mode(), "the commands do not show it: the embedded server has no replica set")
			o.SetAppName(database.AppName)
			o.SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
				if e.CommandName == "insert" || e.CommandName == "count" {
					commands <- bytes.Clone(e.Command)
				}
			}})
		},
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(t.Context())) }()
	require.NoError(t, flows(s).Insert(t.Context(), uuid.New(), &orchv1.Flow{Id: uuid.NewString(), Name: "f"}))
	insert := <-commands
	require.Equal(t, "majority", insert.Lookup("writeConcern", "w").StringValue())
	require.True(t, insert.Lookup("writeConcern", "j").Boolean())
	_, err = flows(s).Count(t.Context(), uuid.New(), store.Query{})
	require.NoError(t, err)
	count := <-commands
	require.Equal(t, "majority", count.Lookup("readConcern", "level").StringValue())
}
