package testkit

import (
	"errors"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/embeddednats"
)

// NATS is an embedded nats-server that can restart on the same directory and port. It implements
// nats.InProcessConnProvider for the current server, so in-process clients reconnect like those on TCP.
type NATS struct {
	opts embeddednats.Options

	mu     sync.Mutex
	server *embeddednats.Server // Nil while stopped.
}

// StartNATS starts a server that stops with the test. The defaults of o.Dir and o.Logger are a temporary directory and
// no logs.
func StartNATS(tb testing.TB, o embeddednats.Options) *NATS {
	tb.Helper()
	if o.Dir == "" {
		o.Dir = tb.TempDir()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	n := &NATS{opts: o}
	n.Start(tb)
	if o.Listen != "" {
		u, err := url.Parse(n.Server().ClientURL())
		require.NoError(tb, err)
		n.opts.Listen = u.Host // The same port after a restart.
	}
	tb.Cleanup(func() { n.Stop(tb) })
	return n
}

// Server returns the running server, or nil while stopped.
func (n *NATS) Server() *embeddednats.Server {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.server
}

// Address returns the host and port of a server with Options.Listen. It survives a restart.
func (n *NATS) Address() string { return n.opts.Listen }

// Start starts a stopped server.
func (n *NATS) Start(tb testing.TB) {
	tb.Helper()
	s, err := embeddednats.Start(n.opts)
	require.NoError(tb, err)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.server = s
}

// Stop stops the server gracefully and keeps its data. It is idempotent.
func (n *NATS) Stop(tb testing.TB) {
	tb.Helper()
	n.mu.Lock()
	s := n.server
	n.server = nil
	n.mu.Unlock()
	if s != nil {
		require.NoError(tb, s.Close())
	}
}

// InProcessConn implements nats.InProcessConnProvider.
func (n *NATS) InProcessConn() (net.Conn, error) {
	s := n.Server()
	if s == nil {
		return nil, errors.New("testkit: the server is stopped")
	}
	return s.InProcessConn()
}
