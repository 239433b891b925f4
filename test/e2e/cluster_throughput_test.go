//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// replicaShare is the processor budget of each gateway and each hooks replica. It is small, so that four of both, the
	// shared parts and the clients have room on a machine with two processors.
	replicaShare = 0.06
	// pairClients post webhooks to one gateway.
	pairClients = 12
	warmUp      = 3 * time.Second
)

// TestClusterThroughput posts webhooks to one, two and four gateways, each with a hooks replica of its own, and prints the
// ratios of their throughputs. Each replica has the same processor budget; broker, store and orchestration have what is
// left. The ratios hold only while the machine grants the budgets, so the shares that the replicas used are printed too.
func TestClusterThroughput(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("ORCH_TEST_CLUSTER_LOAD"))
	if err != nil {
		t.Skip("ORCH_TEST_CLUSTER_LOAD is not set; make e2e-cluster sets it")
	}
	var single float64
	for _, n := range []int{1, 2, 4} {
		t.Run(fmt.Sprintf("%d replicas", n), func(t *testing.T) {
			rate, used := pairsThroughput(t, n, length)
			if n == 1 {
				single = rate
			}
			require.Positive(t, rate)
			t.Logf("%d gateways and %d hooks: %.0f webhooks/s, ratio %.2f; replicas used %.0f %% of their budgets", n, n, rate, rate/single, 100*used)
		})
	}
}

// pairsThroughput returns the acknowledged webhooks per second of so many gateways, and the part of its budget that a
// replica used on average.
func pairsThroughput(t *testing.T, pairs int, length time.Duration) (rate, used float64) {
	t.Helper()
	infra := StartInfra(t, programs, t.TempDir())
	env := func(more ...string) []string {
		return append([]string{
			"ORCH_LOG_FORMAT=json", "ORCH_MONGODB_URI=" + infra.MongoURI(), "ORCH_NATS_URL=" + infra.NATSURL(),
			"ORCH_SECRETS_KEY_FILE=" + filepath.Join(infra.dataDir, "secrets.key"),
		}, more...)
	}
	domain := FreeAddress(t)
	Start(t, "orchestration", env("ORCH_ORCHESTRATION_LISTEN="+domain, "ORCH_ORCHESTRATION_INTERNAL_LISTEN=127.0.0.1:0"), programs.Path("orchestration"))
	var gateways []*Orch
	var replicas []*Process
	var budgets []*CPUBudget
	for i := range pairs {
		gateway, hooks := FreeAddress(t), FreeAddress(t)
		for name, settings := range map[string][]string{
			"hooks": {"ORCH_HOOKS_LISTEN=" + hooks, "ORCH_HOOKS_INTERNAL_LISTEN=127.0.0.1:0"},
			"gateway": {
				"ORCH_GATEWAY_LISTEN=" + gateway, "ORCH_GATEWAY_INTERNAL_LISTEN=127.0.0.1:0",
				"ORCH_ORCHESTRATION_ADDR=" + domain, "ORCH_HOOKS_ADDR=" + hooks,
			},
		} {
			budgets = append(budgets, NewCPUBudget(t, fmt.Sprintf("%s-%d", name, i), replicaShare))
			p := Start(t, fmt.Sprintf("%s %d", name, i), env(settings...), programs.Path(name))
			replicas = append(replicas, p)
		}
		gateways = append(gateways, &Orch{URL: "http://" + gateway})
	}
	for _, g := range gateways {
		g.WaitReady(t)
	}
	for i, p := range replicas { // Not earlier: a start needs more.
		budgets[i].Add(t, p)
	}
	client := &Client{Ledger: NewLedger(), HTTP: &http.Client{
		Timeout: startTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: pairClients, MaxIdleConns: pairClients * pairs},
	}}
	defer client.HTTP.CloseIdleConnections()
	slug, err := client.CreateWebhook(t.Context(), gateways[0], "throughput")
	require.NoError(t, err)

	var accepted atomic.Int64
	var clients sync.WaitGroup
	done := make(chan struct{})
	for i := range pairClients * pairs {
		clients.Go(func() {
			for number := 0; ; number++ {
				select {
				case <-done:
					return
				default:
				}
				status, err := client.post(t.Context(), gateways[i%pairs].URL+"/hooks/"+slug, map[string]any{"number": number}, nil)
				if err == nil && status == http.StatusNoContent {
					accepted.Add(1)
				}
			}
		})
	}
	wait(t.Context(), warmUp)
	before, cpu, began := accepted.Load(), cpuTime(t, replicas), time.Now()
	wait(t.Context(), length)
	took := time.Since(began).Seconds()
	rate = float64(accepted.Load()-before) / took
	used = (cpuTime(t, replicas) - cpu).Seconds() / took / (replicaShare * float64(len(replicas)))
	close(done)
	clients.Wait()
	return rate, used
}

func cpuTime(t *testing.T, processes []*Process) (total time.Duration) {
	t.Helper()
	for _, p := range processes {
		used, err := p.CPUTime()
		require.NoError(t, err)
		total += used
	}
	return total
}
