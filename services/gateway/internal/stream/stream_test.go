package stream_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/gateway/internal/stream"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const waitTimeout = 2 * time.Minute

// serve runs the websockets on a broker that is reached through a proxy, and returns how to open one.
func serve(t *testing.T) (open func(path string) *websocket.Conn, proxy *testkit.Chaos, direct *broker.Conn) {
	t.Helper()
	return serveWithin(t, nil)
}

// serveWithin is serve with the bounds of messages.
func serveWithin(t *testing.T, bounds *admission.Controller) (open func(path string) *websocket.Conn, proxy *testkit.Chaos, direct *broker.Conn) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	nats := testkit.StartNATS(t, embeddednats.Options{Listen: "127.0.0.1:0"})
	proxy = testkit.StartChaos(t, nats.Address())
	connect := func(cfg broker.Config) *broker.Conn {
		cfg.Logger = quiet
		conn, err := broker.Connect(t.Context(), cfg)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, conn.Close()) })
		return conn
	}
	direct = connect(broker.Config{InProcess: nats})
	s := stream.New(stream.Options{
		Caller: rpc.NewLocal(), Broker: connect(broker.Config{URL: "nats://" + proxy.Addr()}), Vocabulary: vocabulary.Orch, Max: 100, Log: quiet,
		Admission: bounds,
	})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		route, ok := s.Route(r.URL.Path)
		if !ok {
			http.NotFound(w, r)
			return
		}
		admit := func(string, bool, string) (request.Info, error) {
			return request.Info{Account: request.DefaultAccount, Workspace: request.DefaultWorkspace}, nil
		}
		if err := s.Serve(w, r, route, stream.Client{}, admit); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), waitTimeout)
		defer cancel()
		require.NoError(t, s.Close(ctx))
		web.Close()
	})
	return func(path string) *websocket.Conn {
		conn, _, err := websocket.Dial(t.Context(), strings.Replace(web.URL, "http", "ws", 1)+path, nil) //nolint:bodyclose // The connection is the body; Dial leaves nothing else to close.
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.CloseNow() })
		return conn
	}, proxy, direct
}

func event(name string) []byte {
	return fmt.Appendf(nil, `{"id":%q,"event":%q,"occurred":"2026-01-01T00:00:00Z","resource":{"orch.resource.id":"x"}}`, uuid.NewString(), name)
}

// TestPongsWaitForTheBroker: while the broker does not answer there is no pong; there is one when it has stored what came
// before the ping.
func TestPongsWaitForTheBroker(t *testing.T) {
	t.Parallel()
	open, proxy, direct := serve(t)
	k := open("/events/in")
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		_, _, _ = k.Read(t.Context()) // Finds the pongs.
	}()
	require.NoError(t, k.Ping(t.Context()), "nothing is under way")

	proxy.HalfOpen()
	const events = 20
	for range events {
		require.NoError(t, k.Write(t.Context(), websocket.MessageText, event("waits")))
	}
	pong := make(chan error, 1)
	go func() { pong <- k.Ping(t.Context()) }()
	select {
	case err := <-pong:
		t.Fatalf("a pong before the events are stored (%v)", err)
	case <-time.After(300 * time.Millisecond):
	}
	proxy.Heal()
	require.NoError(t, <-pong)

	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	stored := 0
	require.NoError(t, direct.Consume(ctx, broker.DurablePersist, broker.ConsumeOptions{}, func(_ context.Context, batch []broker.Event) error {
		if stored += len(batch); stored >= events {
			cancel()
		}
		return nil
	}))
	require.Equal(t, events, stored)
	require.NoError(t, k.CloseNow())
	<-reading
}

// TestEventsInEndsWithoutTheBroker: events that cannot be stored end the socket with a code that says so, and get no pong.
func TestEventsInEndsWithoutTheBroker(t *testing.T) {
	t.Parallel()
	open, proxy, _ := serve(t)
	k := open("/events/in")
	proxy.Cut()
	require.NoError(t, k.Write(t.Context(), websocket.MessageText, event("lost")))
	pong := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	go func() { pong <- k.Ping(ctx) }()
	_, _, err := k.Read(ctx)
	closing, ok := errors.AsType[websocket.CloseError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, websocket.StatusTryAgainLater, closing.Code)
	require.Contains(t, closing.Reason, "broker")
	require.Error(t, <-pong)
	proxy.Heal()
}

// TestRevokedClientsLoseTheirSockets: what lets a client have a socket is asked again while it is open, and an idle one
// is closed too. While the server cannot decide that, nothing is closed.
func TestRevokedClientsLoseTheirSockets(t *testing.T) {
	t.Parallel()
	quiet := slog.New(slog.DiscardHandler)
	nats := testkit.StartNATS(t, embeddednats.Options{})
	conn, err := broker.Connect(t.Context(), broker.Config{InProcess: nats, Logger: quiet})
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	s := stream.New(stream.Options{
		Caller: rpc.NewLocal(), Broker: conn, Vocabulary: vocabulary.Orch, Max: 100, Readmit: 5 * time.Millisecond, Log: quiet,
	})
	var verdict atomic.Pointer[error]
	var asked atomic.Int64
	set := func(err error) { verdict.Store(&err) }
	set(nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := s.Serve(w, r, r.URL.Path, stream.Client{}, func(string, bool, string) (request.Info, error) {
			asked.Add(1)
			return request.Info{Account: request.DefaultAccount, Workspace: request.DefaultWorkspace}, *verdict.Load()
		})
		if err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
		}
	}))
	defer web.Close()
	defer func() { require.NoError(t, s.Close(t.Context())) }()
	url := strings.Replace(web.URL, "http", "ws", 1)
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	for _, proper := range []bool{false, true} {
		set(nil)
		options := &websocket.DialOptions{}
		if proper {
			options.Subprotocols = []string{vocabulary.Subprotocols()[0]}
		}
		k, _, err := websocket.Dial(ctx, url+"/events/in", options) //nolint:bodyclose // Dial leaves nothing open.
		require.NoError(t, err)
		if proper {
			require.NoError(t, k.Write(ctx, websocket.MessageText, []byte(`{"type":"auth","token":"key"}`)))
			_, _, err = k.Read(ctx)
			require.NoError(t, err)
		}
		closed := make(chan error, 1)
		go func() {
			_, _, err := k.Read(ctx)
			closed <- err
		}()
		set(rpc.Detail(http.StatusServiceUnavailable, "the directory is away"))
		before := asked.Load()
		require.Eventually(t, func() bool { return asked.Load() > before+3 }, waitTimeout, time.Millisecond)
		require.NoError(t, k.Ping(ctx), "it is open")
		set(rpc.Detail(http.StatusUnauthorized, "Unauthorized"))
		closing, ok := errors.AsType[websocket.CloseError](<-closed)
		require.True(t, ok)
		require.Equal(t, websocket.StatusPolicyViolation, closing.Code)
	}
}

// TestFramesAreCharged: a message for which the account has no memory closes its socket, and the memory is free afterwards.
func TestFramesAreCharged(t *testing.T) {
	t.Parallel()
	const memory = 100_000
	bounds := admission.New(memory)
	open, _, _ := serveWithin(t, bounds)
	k := open("/events/in")
	require.NoError(t, k.Write(t.Context(), websocket.MessageText, []byte(strings.Repeat("x", memory))))
	_, _, err := k.Read(t.Context())
	require.Equal(t, websocket.StatusTryAgainLater, websocket.CloseStatus(err))
	require.Eventually(t, func() bool { return bounds.Used() == 0 }, waitTimeout, time.Millisecond)

	k = open("/events/in")
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		_, _, _ = k.Read(t.Context()) // Finds the pong.
	}()
	require.NoError(t, k.Write(t.Context(), websocket.MessageText, event("small")))
	require.NoError(t, k.Ping(t.Context()), "it is stored")
	require.NoError(t, k.CloseNow())
	<-reading
}
