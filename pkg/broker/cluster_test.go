package broker_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
)

// startCluster starts a cluster with one server per sync_interval.
func startCluster(t *testing.T, syncIntervals ...string) (servers []*server.Server) {
	t.Helper()
	routes := make([]string, len(syncIntervals))
	for i := range routes {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		routes[i] = l.Addr().String()
		require.NoError(t, l.Close()) // Free for the server below.
	}
	for i, interval := range syncIntervals {
		file := filepath.Join(t.TempDir(), "nats.conf")
		config := fmt.Sprintf("server_name: n%d\nlisten: 127.0.0.1:-1\nmax_payload: 8MB\n"+
			"jetstream { sync_interval: %s, store_dir: %q }\n"+
			"cluster { name: orch, listen: %q, routes: [ nats://%s ] }\n%s",
			i, interval, t.TempDir(), routes[i], strings.Join(routes, ", nats://"), deployedAccounts)
		require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
		opts, err := server.ProcessConfigFile(file)
		require.NoError(t, err)
		opts.NoSigs, opts.NoLog = true, true
		s, err := server.NewServer(opts)
		require.NoError(t, err)
		s.Start()
		t.Cleanup(func() {
			s.Shutdown()
			s.WaitForShutdown()
		})
		servers = append(servers, s)
	}
	for _, s := range servers {
		require.True(t, s.ReadyForConnections(20*time.Second))
		for deadline := time.Now().Add(30 * time.Second); !s.JetStreamIsCurrent(); <-time.After(50 * time.Millisecond) {
			require.True(t, time.Now().Before(deadline), "the cluster has no leader")
		}
	}
	// A leader that has not heard of all servers yet finds no peers for a stream's replicas.
	complete := func(s *server.Server) bool { return len(s.JetStreamClusterPeers()) == len(servers) }
	for deadline := time.Now().Add(30 * time.Second); !slices.ContainsFunc(servers, complete); <-time.After(50 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "the leader misses a server")
	}
	return servers
}

// A cluster is verified server by server, and stores events three times; the loss of one server is survived.
func TestCluster(t *testing.T) {
	t.Parallel()
	servers := startCluster(t, "always", "always", "always")
	var urls []string
	for _, s := range servers {
		urls = append(urls, s.ClientURL())
	}
	c := accepted(t, broker.Config{
		URL: strings.Join(urls, ","), Options: []nats.Option{nats.UserInfo("orch", "secret")},
		Replicas: 3, ConnectTimeout: time.Minute, AckTimeout: 5 * time.Second, MaxBytes: 64 << 20, DeadLetterBytes: 16 << 20,
	})
	require.NoError(t, c.Publisher().Publish(t.Context(), numbered([16]byte{1})))
	servers[0].Shutdown()
	servers[0].WaitForShutdown()
	for deadline := time.Now().Add(time.Minute); c.Publisher().Publish(t.Context(), numbered([16]byte{2})) != nil; {
		require.True(t, time.Now().Before(deadline), "two of three servers do not suffice")
	}
	seen := map[byte]bool{}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, c.Consume(ctx, broker.DurablePersist, broker.ConsumeOptions{},
		func(_ context.Context, batch []broker.Event) error {
			for _, e := range batch {
				seen[e.ID[0]] = true
			}
			if len(seen) == 2 {
				cancel()
			}
			return nil
		}))
	require.Len(t, seen, 2)
}

// One lazy server is enough to lose an acknowledged event, so one is refused, whichever the client is connected to.
func TestClusterWithLazyServer(t *testing.T) {
	t.Parallel()
	for _, s := range startCluster(t, "always", "2m", "always") {
		refused(t, broker.Config{URL: s.ClientURL(), Options: []nats.Option{nats.UserInfo("orch", "secret")}},
			broker.ErrLazySync)
	}
}
