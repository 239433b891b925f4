//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// upgradeFixture is a data directory that an earlier version left when it was killed, with what it had acknowledged.
	// make upgrade-fixture writes it.
	upgradeFixture = "testdata/upgrade"
	// forever keeps the events of the fixture.
	forever = "ORCH_EVENTS_RETENTION=0"
)

// acknowledged is what the earlier version acknowledged before it was killed.
type acknowledged struct {
	Written          time.Time           `json:"written"`
	Slug             string              `json:"slug"`
	Flow             string              `json:"flow"`
	Deployment       string              `json:"deployment"`
	Secret           string              `json:"secret"`   // The id of a block document.
	Variable         string              `json:"variable"` // The name of a variable.
	Webhooks, Events []string            `json:",omitempty"`
	States           map[string][]string `json:"states"`
}

// The plaintext of the block document and of the variable.
const (
	upgradeSecret   = "an old secret"
	upgradeVariable = "upgrade_test"
)

// TestUpgradeFixture starts both forms on the data directory of an earlier version. All that it acknowledged is there, and work
// goes on with it.
func TestUpgradeFixture(t *testing.T) {
	var old acknowledged
	text, err := os.ReadFile(filepath.Join(upgradeFixture, "acknowledged.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &old))
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			dir := t.TempDir()
			out, err := exec.CommandContext(t.Context(), "tar", "-xzf", filepath.Join(upgradeFixture, "data.tar.gz"), "-C", dir).CombinedOutput()
			require.NoError(t, err, "%s", out)
			check := exec.CommandContext(t.Context(), programs.Path("orch"), "upgrade", "--check", "--data-dir", dir)
			out, err = check.CombinedOutput()
			require.NoError(t, err, "%s", out)
			t.Logf("upgrade --check: %s", out)

			o := form.startAt(t, dir, forever)
			c := &Client{HTTP: &http.Client{Timeout: startTimeout}, Ledger: old.ledger(), Since: old.Written.Add(-time.Hour)}
			old.requireReadable(t, c, o)
			c.Deliver(t.Context(), o, old.Slug, "after the upgrade")
			c.Publish(t.Context(), o, "published")
			for run := range old.States {
				c.SetState(t.Context(), o, run, "COMPLETED")
			}
			require.Equal(t, old.ledger().Acknowledged()+2+len(old.States), c.Ledger.Acknowledged(), "all that was asked now is acknowledged")
			requireNothingLost(t, c, o)
		})
	}
}

// ledger is a ledger with what was acknowledged.
func (a *acknowledged) ledger() *Ledger {
	l := NewLedger()
	for _, number := range a.Webhooks {
		l.delivered(number)
	}
	for _, id := range a.Events {
		l.published(id)
	}
	for run, states := range a.States {
		for _, state := range states {
			l.stateSet("state", run, state)
		}
	}
	return l
}

// requireReadable reads what the ledger does not have.
func (a *acknowledged) requireReadable(t *testing.T, c *Client, o *Orch) {
	t.Helper()
	var variable struct{ Value string }
	var block struct{ Data struct{ Value string } }
	var deployment struct {
		Schedules []struct{ ID string }
	}
	for path, out := range map[string]any{
		"/variables/name/" + a.Variable:                          &variable,
		"/block_documents/" + a.Secret + "?include_secrets=true": &block,
		"/deployments/" + a.Deployment:                           &deployment,
		"/flows/" + a.Flow:                                       nil,
	} {
		status, err := c.get(t.Context(), o.API()+path, out)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status, path)
	}
	require.Equal(t, upgradeVariable, variable.Value)
	require.Equal(t, upgradeSecret, block.Data.Value)
	require.Len(t, deployment.Schedules, 1)
}

func requireNothingLost(t *testing.T, c *Client, o *Orch) {
	t.Helper()
	verdict, err := c.Check(t.Context(), o, time.Minute)
	require.NoError(t, err)
	t.Logf("%d acknowledged, %d without an answer; %d lost, %d twice",
		c.Ledger.Acknowledged(), c.Ledger.Unknown(), len(verdict.Lost), len(verdict.Twice))
	require.Empty(t, verdict.Lost)
	require.Empty(t, verdict.Twice)
}

// oldPrograms are those of an earlier version, which make e2e-upgrade and make upgrade-fixture build.
func oldPrograms(t *testing.T) Programs {
	t.Helper()
	dir := os.Getenv("ORCH_TEST_UPGRADE_OLD")
	if dir == "" {
		t.Skip("ORCH_TEST_UPGRADE_OLD is not set; make e2e-upgrade sets it")
	}
	return Programs{Dir: dir}
}

// TestWriteUpgradeFixture writes the fixture with the programs of an earlier version: work that a kill interrupts.
func TestWriteUpgradeFixture(t *testing.T) {
	if os.Getenv("ORCH_TEST_UPGRADE_WRITE") == "" {
		t.Skip("ORCH_TEST_UPGRADE_WRITE is not set; make upgrade-fixture sets it")
	}
	dir := t.TempDir()
	o := StartSingle(t, oldPrograms(t), dir, forever)
	c := &Client{HTTP: &http.Client{Timeout: startTimeout}, Ledger: NewLedger()}
	a := acknowledged{Written: time.Now().UTC().Truncate(time.Second), Variable: upgradeVariable, States: map[string][]string{}}
	create := func(path string, body map[string]any) string {
		var created struct{ ID string }
		status, err := c.post(t.Context(), o.API()+path, body, &created)
		require.NoError(t, err)
		require.Contains(t, []int{http.StatusOK, http.StatusCreated}, status, path)
		return created.ID
	}
	var err error
	a.Slug, err = c.CreateWebhook(t.Context(), o, "upgrade")
	require.NoError(t, err)
	a.Flow = create("/flows/", map[string]any{"name": "upgrade"})
	a.Deployment = create("/deployments/", map[string]any{"name": "upgrade", "flow_id": a.Flow, "paused": true, "schedules": []any{
		map[string]any{"active": true, "schedule": map[string]any{"interval": 3600}},
	}})
	create("/variables/", map[string]any{"name": a.Variable, "value": upgradeVariable})
	var secret struct{ ID string }
	_, err = c.get(t.Context(), o.API()+"/block_types/slug/secret", &secret)
	require.NoError(t, err)
	var schemas []struct{ ID string }
	_, err = c.post(t.Context(), o.API()+"/block_schemas/filter",
		map[string]any{"block_schemas": map[string]any{"block_type_id": map[string]any{"any_": []string{secret.ID}}}}, &schemas)
	require.NoError(t, err)
	require.NotEmpty(t, schemas)
	a.Secret = create("/block_documents/", map[string]any{
		"name": "upgrade", "block_type_id": secret.ID, "block_schema_id": schemas[0].ID, "data": map[string]any{"value": upgradeSecret},
	})
	for i := range 20 {
		c.Deliver(t.Context(), o, a.Slug, fmt.Sprint(i))
		c.Publish(t.Context(), o, "published")
		c.SetState(t.Context(), o, c.CreateRun(t.Context(), o, a.Flow), "RUNNING")
	}
	o.Kill()
	for number := range c.Ledger.webhooks {
		a.Webhooks = append(a.Webhooks, number)
	}
	for id := range c.Ledger.events {
		a.Events = append(a.Events, id)
	}
	for run, states := range c.Ledger.states {
		for _, state := range states {
			a.States[run] = append(a.States[run], state.id)
		}
	}
	require.Equal(t, 80, c.Ledger.Acknowledged())

	text, err := json.MarshalIndent(a, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(upgradeFixture, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(upgradeFixture, "acknowledged.json"), append(text, '\n'), 0o600))
	out, err := exec.CommandContext(t.Context(), "tar", "-czf", filepath.Join(upgradeFixture, "data.tar.gz"), "-C", dir, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// TestRollingUpgrade replaces the services of an earlier version one after another under load. Old and new replicas work on
// one broker and one store meanwhile. Then broker and store are replaced.
//
//	old gateway ──► old orchestration     old gateway ──► new orchestration     new gateway ──► new orchestration
//	     └────────► old hooks                  └────────► old hooks                  └────────► new hooks
func TestRollingUpgrade(t *testing.T) {
	old := oldPrograms(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	infra := StartInfra(t, old, t.TempDir())
	env := []string{
		"ORCH_LOG_FORMAT=json", "ORCH_MONGODB_URI=" + infra.MongoURI(), "ORCH_NATS_URL=" + infra.NATSURL(),
		"ORCH_SECRETS_KEY_FILE=" + filepath.Join(infra.dataDir, "secrets.key"),
	}
	replica := func(version Programs, name, label string, settings ...string) *Process {
		return Start(t, name+" "+label, append(settings, env...), version.Path(name))
	}
	orchestration := func(version Programs, label string) (*Process, string) {
		address := FreeAddress(t)
		return replica(version, "orchestration", label,
			"ORCH_ORCHESTRATION_LISTEN="+address, "ORCH_ORCHESTRATION_INTERNAL_LISTEN=127.0.0.1:0"), address
	}
	hooks := func(version Programs, label string) (*Process, string) {
		address := FreeAddress(t)
		return replica(version, "hooks", label, "ORCH_HOOKS_LISTEN="+address, "ORCH_HOOKS_INTERNAL_LISTEN=127.0.0.1:0"), address
	}
	gateway := func(version Programs, label, orchestration, hooks string) *Orch {
		address := FreeAddress(t)
		p := replica(version, "gateway", label, "ORCH_GATEWAY_LISTEN="+address, "ORCH_GATEWAY_INTERNAL_LISTEN=127.0.0.1:0",
			"ORCH_ORCHESTRATION_ADDR="+orchestration, "ORCH_HOOKS_ADDR="+hooks)
		o := &Orch{URL: "http://" + address, Processes: []*Process{p}}
		o.WaitReady(t)
		return o
	}

	oldDomain, oldDomainAddress := orchestration(old, "old")
	oldHooks, oldHooksAddress := hooks(old, "old")
	first := gateway(old, "old", oldDomainAddress, oldHooksAddress)
	client := &Client{HTTP: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 16}}, Ledger: NewLedger()}
	defer client.HTTP.CloseIdleConnections()
	slug, err := client.CreateWebhook(ctx, first, "upgrade")
	require.NoError(t, err)
	var flow struct{ ID string }
	_, err = client.post(ctx, first.API()+"/flows/", map[string]any{"name": "upgrade"}, &flow)
	require.NoError(t, err)
	balancer := &Balancer{Gateways: []*Orch{first}}
	load := StartLoad(ctx, client, balancer, slug, flow.ID)
	step := func(name string) {
		load.Progress(ctx, 300)
		require.NoError(t, ctx.Err(), name)
		t.Logf("%-40s webhooks %8s, states %8s without a success at most", name,
			load.Webhooks.Longest().Round(time.Millisecond), load.States.Longest().Round(time.Millisecond))
	}
	step("the earlier version alone")

	check := exec.CommandContext(ctx, programs.Path("orchestration"), "--upgrade-check")
	check.Env = append(os.Environ(), env...)
	out, err := check.CombinedOutput()
	require.NoError(t, err, "%s", out)

	_, newDomainAddress := orchestration(programs, "new")
	second := gateway(old, "old, new orchestration", newDomainAddress, oldHooksAddress)
	balancer.Use(first, second)
	step("both versions of orchestration")

	_, newHooksAddress := hooks(programs, "new")
	third := gateway(programs, "new", newDomainAddress, newHooksAddress)
	balancer.Use(first, second, third)
	step("both versions of all services")

	balancer.Use(third)
	for _, p := range []*Process{first.Processes[0], second.Processes[0], oldHooks, oldDomain} {
		require.NoError(t, p.Stop(time.Minute), p.Name())
	}
	step("this version, on the earlier infra")

	require.NoError(t, infra.Process.Stop(time.Minute))
	Start(t, "orch infra new", nil, programs.Path("orch"), "infra", "--data-dir", infra.dataDir,
		"--mongo-listen", infra.MongoAddress, "--nats-listen", infra.NATSAddress,
		"--insecure") // The services connect without the passwords that an earlier version did not demand.
	step("this version alone")
	load.Stop()
	requireNothingLost(t, client, third)
}
