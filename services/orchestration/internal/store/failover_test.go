package store_test

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// failover dials the current primary. It is not an Executor, so the client talks to it as to a separate process.
type failover struct {
	mu    sync.Mutex
	to    *embeddedmongo.Server
	conns []net.Conn
}

func (f *failover) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	conn, err := f.to.ContextDialer().DialContext(ctx, network, address)
	if err == nil {
		f.conns = append(f.conns, conn)
	}
	return conn, err
}

// switchTo ends the connections to the primary so far.
func (f *failover) switchTo(to *embeddedmongo.Server) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.to = to
	for _, conn := range f.conns {
		_ = conn.Close()
	}
	f.conns = nil
}

// openOn opens a primary on a disk. It is closed when the test ends.
func openOn(t *testing.T, disk vfs.FS) *embeddedmongo.Server {
	t.Helper()
	server, err := embeddedmongo.Open("db", embeddedmongo.Options{FS: disk})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	return server
}

// successor opens a primary that has what the disk of another one has synced, as if it had been replicated.
func successor(t *testing.T, disk *vfs.MemFS) *embeddedmongo.Server {
	t.Helper()
	return openOn(t, disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 0}))
}

// connect opens a store on a primary that another one can replace. It is closed when the test ends.
func connect(t *testing.T, server *embeddedmongo.Server) (*store.Store, *failover) {
	t.Helper()
	dialer := &failover{to: server}
	s, err := store.Open(t.Context(), store.Config{URI: server.URI(), Database: "orch", Dialer: dialer, Clock: clock.System{}, IDs: id.System()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
	return s, dialer
}
