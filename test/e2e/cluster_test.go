//go:build e2e

package e2e

import (
	"context"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clusterFailure is what happens to a cluster under load, and the bound of the unavailability that docs/guarantees.md states.
type clusterFailure struct {
	name  string
	bound time.Duration
	do    func(t *testing.T, c *Cluster, hold func())
}

var clusterFailures = []clusterFailure{
	{"rolling restart of all services", 5 * time.Second, func(t *testing.T, c *Cluster, _ func()) {
		for _, name := range []string{"or1", "or2", "hk1", "hk2", "gw1", "gw2"} {
			require.NoError(t, c.Processes[name].Stop(time.Minute))
			require.NoError(t, c.Processes[name].Restart())
			c.WaitReady(t)
		}
	}},
	{"one replica of each service killed", 10 * time.Second, func(t *testing.T, c *Cluster, hold func()) {
		for _, name := range []string{"or1", "hk1", "gw1"} {
			c.Processes[name].Kill()
		}
		hold()
		for _, name := range []string{"or1", "hk1", "gw1"} {
			require.NoError(t, c.Processes[name].Restart())
		}
	}},
	{"one host cut off", 30 * time.Second, func(t *testing.T, c *Cluster, hold func()) {
		c.Network.Host("or2").Cut(t)
		hold()
		c.Network.Host("or2").Join(t)
	}},
	{"asymmetric partition of the broker", 15 * time.Second, func(t *testing.T, c *Cluster, hold func()) {
		leader := c.Network.Host(c.Leader(t))
		other := c.Network.Host("n1")
		if leader == other {
			other = c.Network.Host("n2")
		}
		leader.Deafen(t, other)
		hold()
		leader.Hear(t, other)
	}},
	{"leader of the stream killed", 15 * time.Second, func(t *testing.T, c *Cluster, hold func()) {
		leader := c.Leader(t)
		c.Processes[leader].Kill()
		hold()
		require.NoError(t, c.Processes[leader].Restart())
	}},
	{"50 ms latency and 1 % loss", 5 * time.Second, func(t *testing.T, c *Cluster, hold func()) {
		for _, h := range c.Network.hosts {
			h.Impair(t, c.NetDelay, Impairment{Delay: "50ms", Loss: "1"})
			defer h.Repair(t)
		}
		hold()
	}},
}

// TestCluster keeps ten hosts under load while hosts and links fail. Afterwards every 204 has its event and every 201 its
// state, each exactly once.
func TestCluster(t *testing.T) {
	if os.Getenv("ORCH_TEST_CLUSTER") == "" {
		t.Skip("ORCH_TEST_CLUSTER is not set; make e2e-cluster sets it")
	}
	c := StartCluster(t, programs, EmbeddedStore{})
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	client := &Client{
		HTTP:   &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 16, IdleConnTimeout: 5 * time.Second}},
		Ledger: NewLedger(),
	}
	defer client.HTTP.CloseIdleConnections()
	slug, err := client.CreateWebhook(ctx, c.Gateways[0], "cluster")
	require.NoError(t, err)
	var flow struct{ ID string }
	_, err = client.post(ctx, c.Gateways[0].API()+"/flows/", map[string]any{"name": "cluster"}, &flow)
	require.NoError(t, err)

	load := StartLoad(ctx, client, &Balancer{Gateways: c.Gateways}, slug, flow.ID)
	hold := func() {
		select {
		case <-time.After(10 * time.Second):
		case <-ctx.Done():
		}
	}
	t.Logf("%-36s %12s %12s %8s", "failure", "webhooks", "states", "bound")
	for _, failure := range clusterFailures {
		load.Webhooks.Longest()
		load.States.Longest()
		failure.do(t, c, hold)
		c.WaitReady(t)
		load.Progress(ctx, 20) // The measurement includes the recovery.
		away, stuck := load.Webhooks.Longest(), load.States.Longest()
		t.Logf("%-36s %12s %12s %8s", failure.name, away.Round(time.Millisecond), stuck.Round(time.Millisecond), failure.bound)
		if max(away, stuck) > failure.bound {
			t.Errorf("%s: unavailable for %s, the bound is %s", failure.name, max(away, stuck), failure.bound)
		}
	}
	load.Stop()
	c.WaitReady(t)
	requireNothingLost(t, client, c.Gateways[0])
}
