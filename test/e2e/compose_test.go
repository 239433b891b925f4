//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// requireConfined checks what the engine made of the settings of a service's container.
func requireConfined(c *Compose, service string) {
	c.Helper()
	var found []struct {
		Config     struct{ User string }
		HostConfig struct {
			ReadonlyRootfs bool
			Memory         int64
			CapDrop        []string
			SecurityOpt    []string
		}
	}
	id := strings.TrimSpace(c.Run("docker", "compose", "ps", "--quiet", service))
	require.NoError(c, json.Unmarshal([]byte(c.Run("docker", "inspect", id)), &found))
	require.Len(c, found, 1)
	require.Equal(c, "65532:65532", found[0].Config.User, service)
	require.True(c, found[0].HostConfig.ReadonlyRootfs, service)
	require.Positive(c, found[0].HostConfig.Memory, service)
	require.Equal(c, []string{"ALL"}, found[0].HostConfig.CapDrop, service)
	require.Contains(c, found[0].HostConfig.SecurityOpt, "no-new-privileges:true", service)
}

// TestCompose starts docker-compose.yml by `make up` from nothing. It posts webhooks and runs a flow through the published port while each
// container is killed in turn, stops everything and starts it again: whatever was acknowledged is there, exactly once.
func TestCompose(t *testing.T) {
	if os.Getenv("ORCH_TEST_COMPOSE") == "" {
		t.Skip("ORCH_TEST_COMPOSE is not set: make e2e-compose sets it")
	}
	if err := FindEngine(t.Context()); err != nil {
		t.Skip(err)
	}
	c := NewCompose(t, "ORCH_AUTH=keys")
	o, took := c.Up()
	t.Logf("make up from nothing: %s", took)
	for service := range strings.FieldsSeq("gateway hooks orchestration") {
		requireConfined(c, service)
	}
	c.Key = strings.TrimSpace(c.Run("docker", "compose", "exec", "-T", "orchestration", "/service", "--owner-key"))

	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	status, err := (&Client{HTTP: http.DefaultClient}).post(ctx, o.API()+"/flows/", map[string]any{"name": "compose"}, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, status, "a request without the key")
	client := &Client{HTTP: &http.Client{Timeout: 10 * time.Second, Transport: c}, Ledger: NewLedger()}
	slug, err := client.CreateWebhook(ctx, o, "compose")
	require.NoError(t, err)
	var flow struct{ ID string }
	_, err = client.post(ctx, o.API()+"/flows/", map[string]any{"name": "compose"}, &flow)
	require.NoError(t, err)

	load := StartLoad(ctx, client, &Balancer{Gateways: []*Orch{o}}, slug, flow.ID)
	for _, service := range []string{"gateway", "hooks", "orchestration", "nats", "mongo"} {
		load.Progress(ctx, 200)
		c.Run("docker", "compose", "kill", service)
		c.Run("docker", "compose", "up", "--detach", "--wait", "--no-build")
		o.WaitReady(t)
	}
	load.Progress(ctx, 200)
	load.Stop()
	require.NoError(t, ctx.Err())

	c.Run("make", "down")
	o, took = c.Up()
	t.Logf("make up again: %s", took)
	verdict, err := client.Check(ctx, o, 2*time.Minute)
	require.NoError(t, err)
	t.Logf("%d acknowledged, %d without an answer; %d lost, %d twice",
		client.Ledger.Acknowledged(), client.Ledger.Unknown(), len(verdict.Lost), len(verdict.Twice))
	require.Empty(t, verdict.Lost)
	require.Empty(t, verdict.Twice)
}
