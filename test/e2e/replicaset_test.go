//go:build e2e

package e2e

import (
	"context"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest/mongod"
)

// failureLasts is how long a failure of a cluster lasts.
const failureLasts = 10 * time.Second

// replicaSetFailure is what happens to a cluster on a replica set under load, and the bound of the unavailability that
// docs/guarantees.md states.
type replicaSetFailure struct {
	name  string
	bound time.Duration
	do    func(t *testing.T, c *Cluster, s *ReplicaSet)
}

var replicaSetFailures = []replicaSetFailure{
	{"primary steps down", 15 * time.Second, func(t *testing.T, _ *Cluster, s *ReplicaSet) { s.StepDown(t) }},
	{"primary killed", 15 * time.Second, func(t *testing.T, c *Cluster, s *ReplicaSet) {
		primary := s.Primary(t)
		c.Processes[primary].Kill()
		wait(t.Context(), failureLasts)
		require.NoError(t, c.Processes[primary].Restart())
	}},
	{"primary stopped by SIGSTOP", 30 * time.Second, func(t *testing.T, c *Cluster, s *ReplicaSet) {
		process := c.Processes[s.Primary(t)]
		require.NoError(t, syscall.Kill(process.Pid(), syscall.SIGSTOP))
		wait(t.Context(), failureLasts)
		require.NoError(t, syscall.Kill(process.Pid(), syscall.SIGCONT))
	}},
	{"host of the primary cut off", 30 * time.Second, func(t *testing.T, c *Cluster, s *ReplicaSet) {
		host := c.Network.Host(s.Primary(t))
		host.Cut(t)
		wait(t.Context(), failureLasts)
		host.Join(t)
	}},
	{"rollback of a separated primary", 30 * time.Second, func(t *testing.T, _ *Cluster, s *ReplicaSet) { s.RollBack(t) }},
	{"secondary killed", 5 * time.Second, func(t *testing.T, c *Cluster, s *ReplicaSet) {
		secondary := s.Secondaries(s.Primary(t))[0]
		c.Processes[secondary].Kill()
		wait(t.Context(), failureLasts)
		require.NoError(t, c.Processes[secondary].Restart())
	}},
	{"leader of the stream killed", 15 * time.Second, func(t *testing.T, c *Cluster, _ *ReplicaSet) {
		leader := c.Leader(t)
		c.Processes[leader].Kill()
		wait(t.Context(), failureLasts)
		require.NoError(t, c.Processes[leader].Restart())
	}},
	{"leader of the stream cut off", 30 * time.Second, func(t *testing.T, c *Cluster, _ *ReplicaSet) {
		host := c.Network.Host(c.Leader(t))
		host.Cut(t)
		wait(t.Context(), failureLasts)
		host.Join(t)
	}},
	{"stream of events full for 10 s", 25 * time.Second, func(t *testing.T, c *Cluster, _ *ReplicaSet) {
		const room = 64 << 10
		before := c.LimitEvents(t, func(stored uint64) int64 { return int64(stored) + room })
		consumers := []*Process{c.Processes["or1"], c.Processes["or2"]}
		for _, p := range consumers { // Consumed events would make room.
			require.NoError(t, syscall.Kill(p.Pid(), syscall.SIGSTOP))
		}
		wait(t.Context(), failureLasts)
		for _, p := range consumers {
			require.NoError(t, syscall.Kill(p.Pid(), syscall.SIGCONT))
		}
		c.LimitEvents(t, func(uint64) int64 { return before })
	}},
	{"one replica of each service killed", 10 * time.Second, func(t *testing.T, c *Cluster, _ *ReplicaSet) {
		for _, name := range []string{"or1", "hk1", "gw1"} {
			c.Processes[name].Kill()
		}
		wait(t.Context(), failureLasts)
		for _, name := range []string{"or1", "hk1", "gw1"} {
			require.NoError(t, c.Processes[name].Restart())
		}
	}},
}

// TestReplicaSet keeps a cluster on three MongoDB members and three NATS servers under load while members and servers fail.
// Clients race for the states of a few runs meanwhile. Afterwards every acknowledged request is present once, and set_state was
// linearizable.
func TestReplicaSet(t *testing.T) {
	if os.Getenv("ORCH_TEST_REPLICASET") == "" {
		t.Skip("ORCH_TEST_REPLICASET is not set; make e2e-replicaset sets it")
	}
	program, err := mongod.Find()
	if err != nil {
		t.Skip(err)
	}
	store := &ReplicaSet{Mongod: program}
	c := StartCluster(t, programs, store)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	client := &Client{
		HTTP:   &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 16, IdleConnTimeout: 5 * time.Second}},
		Ledger: NewLedger(),
	}
	defer client.HTTP.CloseIdleConnections()
	slug, err := client.CreateWebhook(ctx, c.Gateways[0], "replica set")
	require.NoError(t, err)
	var flow struct{ ID string }
	_, err = client.post(ctx, c.Gateways[0].API()+"/flows/", map[string]any{"name": "replica set"}, &flow)
	require.NoError(t, err)
	race, err := NewContention(ctx, client, c.Gateways[0], flow.ID, 2)
	require.NoError(t, err)

	balancer := &Balancer{Gateways: c.Gateways}
	load := StartLoad(ctx, client, balancer, slug, flow.ID)
	race.Start(ctx, balancer.Pick)
	t.Logf("%-36s %12s %12s %12s %8s", "failure", "acknowledged", "webhooks", "states", "bound")
	for _, failure := range replicaSetFailures {
		t.Run(failure.name, func(t *testing.T) {
			before := client.Ledger.Acknowledged()
			load.Webhooks.Longest()
			load.States.Longest()
			failure.do(t, c, store)
			store.Primary(t)
			c.WaitReady(t)
			load.Progress(ctx, 20) // The measurement includes the recovery.
			away, stuck := load.Webhooks.Longest(), load.States.Longest()
			t.Logf("%-36s %12d %12s %12s %8s", failure.name, client.Ledger.Acknowledged()-before,
				away.Round(time.Millisecond), stuck.Round(time.Millisecond), failure.bound)
			if max(away, stuck) > failure.bound {
				t.Errorf("%s: unavailable for %s, the bound is %s", failure.name, max(away, stuck), failure.bound)
			}
		})
	}
	load.Stop()
	race.Stop()
	c.WaitReady(t)
	requireNothingLost(t, client, c.Gateways[0])
	t.Logf("%d operations on contested runs are linearizable", race.Check(t, c.Gateways[0], time.Minute))
}
