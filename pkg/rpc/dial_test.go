package rpc_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// lines is a log that tests read while others write.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

// freeAddress is an address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, ln.Close())
	return ln.Addr().String()
}

// serveFlows serves on an address until the test or stop ends it.
func serveFlows(t *testing.T, address string) (stop func()) {
	t.Helper()
	s := rpc.NewServer()
	orchv1.RegisterFlowServiceServer(s, &flows{})
	ln, err := net.Listen("tcp", address)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	return func() {
		cancel()
		s.Stop()
		require.NoError(t, <-done)
	}
}

func createFlow(t *testing.T, conn *rpc.Conn) error {
	t.Helper()
	ctx := request.Outgoing(t.Context(), request.Info{Account: request.DefaultAccount, Workspace: request.DefaultWorkspace})
	_, _, err := rpc.NewRemote(conn).Call(ctx, orchv1.FlowService_CreateFlow_FullMethodName, &orchv1.CreateFlowRequest{})
	return err
}

// A call that comes before the service has started waits for it, also after a failed attempt to connect.
func TestCallWaitsForTheConnection(t *testing.T) {
	log := &lines{}
	address := freeAddress(t)
	conn, err := rpc.Dial(address, rpc.DialOptions{Wait: time.Minute, Log: slog.New(slog.NewTextHandler(log, nil))})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return log.count("unavailable") == 1 }, time.Minute, time.Millisecond)
	require.Error(t, conn.Ready())
	called := make(chan error, 1)
	go func() { called <- createFlow(t, conn) }()
	stop := serveFlows(t, address)
	require.NoError(t, <-called)
	require.NoError(t, conn.Ready())
	stop()

	// A restart of the service delays a call too.
	require.Eventually(t, func() bool { return conn.Ready() != nil }, time.Minute, time.Millisecond)
	go func() { called <- createFlow(t, conn) }()
	defer serveFlows(t, address)()
	require.NoError(t, <-called)
	require.NoError(t, conn.Close())
}

// During a long outage calls fail at once, and the log has one line for it.
func TestCallFailsDuringALongOutage(t *testing.T) {
	log := &lines{}
	conn, err := rpc.Dial(freeAddress(t), rpc.DialOptions{Wait: 50 * time.Millisecond, Log: slog.New(slog.NewTextHandler(log, nil))})
	require.NoError(t, err)
	require.Equal(t, codes.Unavailable, status.Code(createFlow(t, conn)), "the wait is bounded")
	for range 20 {
		require.Equal(t, codes.Unavailable, status.Code(createFlow(t, conn)))
	}
	require.Equal(t, 1, log.count("\n"), "one line for the outage")
	require.NoError(t, conn.Close())
}

func TestDialOfABadAddress(t *testing.T) {
	_, err := rpc.Dial("unknown-scheme:///\x7f", rpc.DialOptions{})
	require.Error(t, err)
}
