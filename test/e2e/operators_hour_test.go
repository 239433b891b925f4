//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/secrets"
)

// operator works on a split deployment as docs/operations.md and docs/runbook.md describe.
type operator struct {
	*testing.T
	orch    *Orch
	client  *Client
	metrics string // The internal address of the gateway.
	traces  string // The folder of the files with spans.
	key     string // The API key in use.
	config  string // The folder of the profiles of the command line.
}

// deploy starts the services on a data directory, with API keys, metrics and traces.
func (o *operator) deploy(dataDir string) {
	o.Helper()
	o.metrics = FreeAddress(o)
	o.orch = StartServices(o, programs, StartInfra(o, programs, dataDir), "ORCH_AUTH=keys", "ORCH_GATEWAY_INTERNAL_LISTEN="+o.metrics,
		"ORCH_TRACE_FILE="+filepath.Join(o.traces, "spans.jsonl"))
}

// RoundTrip adds the API key to each request.
func (o *operator) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+o.key)
	return http.DefaultTransport.RoundTrip(r)
}

// run executes a command of orch with the API key, and returns its output.
func (o *operator) run(args ...string) string {
	o.Helper()
	cmd := exec.CommandContext(o.Context(), programs.Path("orch"), args...)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+o.config, "ORCH_API_KEY="+o.key)
	out, err := cmd.CombinedOutput()
	require.NoError(o, err, "orch %v: %s", args, out)
	return string(out)
}

func (o *operator) create(path string, body map[string]any) (id string) {
	o.Helper()
	var created struct{ ID string }
	status, err := o.client.post(o.Context(), o.orch.API()+path, body, &created)
	require.NoError(o, err)
	require.Contains(o, []int{http.StatusOK, http.StatusCreated}, status, path)
	return created.ID
}

// status is that of the caller's own record with a key.
func (o *operator) status(key string) int {
	o.Helper()
	request, err := http.NewRequestWithContext(o.Context(), http.MethodGet, o.orch.API()+"/me/", nil)
	require.NoError(o, err)
	request.Header.Set("Authorization", "Bearer "+key)
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(o, err)
	require.NoError(o, response.Body.Close())
	return response.StatusCode
}

// slowestRoute is the route with the longest mean duration, by the gateway's metrics.
func (o *operator) slowestRoute() (route string, mean time.Duration) {
	o.Helper()
	request, err := http.NewRequestWithContext(o.Context(), http.MethodGet, "http://"+o.metrics+"/metrics", nil)
	require.NoError(o, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(o, err)
	defer response.Body.Close()
	sums, counts := map[string]float64{}, map[string]float64{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, rest, _ := strings.Cut(lines.Text(), "{")
		labels, value, _ := strings.Cut(rest, "} ")
		_, path, _ := strings.Cut(labels, `route="`)
		path, _, _ = strings.Cut(path, `"`)
		number, _ := strconv.ParseFloat(value, 64)
		switch name {
		case "orch_http_request_duration_seconds_sum":
			sums[path] += number
		case "orch_http_request_duration_seconds_count":
			counts[path] += number
		}
	}
	require.NoError(o, lines.Err())
	for path, sum := range sums {
		if each := time.Duration(sum / counts[path] * float64(time.Second)); each > mean {
			route, mean = path, each
		}
	}
	return route, mean
}

// spans are the names of a trace's spans with their components, in the files that the services write.
func (o *operator) spans(trace string) map[string]bool {
	o.Helper()
	text, err := os.ReadFile(filepath.Join(o.traces, "spans.jsonl"))
	require.NoError(o, err)
	names := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		var span struct{ Component, Name string }
		if strings.Contains(line, trace) && json.Unmarshal([]byte(line), &span) == nil {
			names[span.Component+": "+span.Name] = true
		}
	}
	return names
}

// TestOperatorsHour does with the documents alone what an operator does in the first hour.
//
//	deploy ─► slow route ─► trace ─► rotate an API key ─► rotate the secrets key ─► back up ─► kill, restore ─► upgrade
func TestOperatorsHour(t *testing.T) {
	began := time.Now()
	step := func(name string) {
		t.Logf("%6.1f s  %s", time.Since(began).Seconds(), name)
	}
	dataDir := filepath.Join(t.TempDir(), "data")
	o := &operator{T: t, traces: t.TempDir(), config: t.TempDir()}
	o.client = &Client{HTTP: &http.Client{Timeout: startTimeout, Transport: o}, Ledger: NewLedger()}
	o.deploy(dataDir)
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	o.key = o.orch.OwnerKey(t)
	step("deployed")

	slug, err := o.client.CreateWebhook(ctx, o.orch, "hour")
	require.NoError(t, err)
	flow := o.create("/flows/", map[string]any{"name": "hour"})
	for range 20 {
		o.create("/flow_runs/", map[string]any{"flow_id": flow, "state": map[string]any{"type": "SCHEDULED"}})
	}
	route, mean := o.slowestRoute()
	require.NotEmpty(t, route)
	step(fmt.Sprintf("the slowest route is %s: %s", route, mean.Round(time.Microsecond)))

	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, o.orch.URL+"/hooks/"+slug, strings.NewReader(`{"number": "1"}`))
	require.NoError(t, err)
	post.Header.Set("Traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
	post.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultTransport.RoundTrip(post)
	require.NoError(t, err)
	_, _ = io.Copy(io.Discard, response.Body) // Only the status matters.
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusNoContent, response.StatusCode)
	require.Eventually(t, func() bool {
		found := o.spans(trace)
		return found["gateway: POST /hooks/{slug}"] && found["hooks: POST /hooks/{slug}"] && found["orchestration: persist event"]
	}, time.Minute, 50*time.Millisecond)
	step(fmt.Sprintf("followed one webhook through %d kinds of spans", len(o.spans(trace))))

	owner := o.key
	created := o.run("api-key", "create", "second", "--api-url", o.orch.API())
	for line := range strings.Lines(created) {
		if strings.HasPrefix(line, "onu_") {
			o.key = strings.TrimSpace(line)
		}
	}
	require.NotEqual(t, owner, o.key, created)
	for line := range strings.Lines(o.run("api-key", "ls", "--api-url", o.orch.API())) {
		if strings.Contains(line, "made on the console") {
			o.run("api-key", "delete", strings.Fields(line)[0], "--api-url", o.orch.API())
		}
	}
	require.Eventually(t, func() bool { return o.status(owner) == http.StatusUnauthorized }, time.Minute, 50*time.Millisecond)
	require.Equal(t, http.StatusOK, o.status(o.key))
	step("rotated the API key")

	before := o.secret("before")
	keys := filepath.Join(dataDir, "secrets.key")
	old, err := os.ReadFile(keys)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(keys, append([]byte(secrets.NewKey()+"\n"), old...), 0o600))
	for _, p := range o.orch.Processes[1:3] { // orchestration and hooks decrypt.
		o.orch.Restart(t, p)
	}
	after := o.secret("after")
	o.requireSecrets(map[string]string{before: "before", after: "after"})
	step("rotated the secrets key")

	backup, restored := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "restored")
	o.run("backup", backup, "--data-dir", dataDir)
	o.run("doctor", "--data-dir", backup)
	step("backed up while the services run")

	o.orch.Kill()
	o.run("restore", backup, "--data-dir", restored)
	o.run("upgrade", "--check", "--data-dir", restored)
	o.deploy(restored)
	o.requireSecrets(map[string]string{before: "before", after: "after"})
	var runs int
	_, err = o.client.post(ctx, o.orch.API()+"/flow_runs/count", map[string]any{}, &runs)
	require.NoError(t, err)
	require.Equal(t, 20, runs)
	require.Equal(t, http.StatusUnauthorized, o.status(owner), "a deleted key stays deleted")
	step("killed everything and restored it")

	for _, p := range o.orch.Processes[1:] { // The programs of the next version would start here.
		require.NoError(t, p.Stop(time.Minute))
		require.NoError(t, p.Restart())
		o.orch.WaitReady(t)
	}
	o.requireSecrets(map[string]string{after: "after"})
	step("replaced the services one after the other")
}

// secret creates a block document with a secret and returns its id.
func (o *operator) secret(value string) string {
	o.Helper()
	var kind struct{ ID string }
	_, err := o.client.get(o.Context(), o.orch.API()+"/block_types/slug/secret", &kind)
	require.NoError(o, err)
	var schemas []struct{ ID string }
	_, err = o.client.post(o.Context(), o.orch.API()+"/block_schemas/filter",
		map[string]any{"block_schemas": map[string]any{"block_type_id": map[string]any{"any_": []string{kind.ID}}}}, &schemas)
	require.NoError(o, err)
	require.NotEmpty(o, schemas)
	return o.create("/block_documents/", map[string]any{
		"name": value, "block_type_id": kind.ID, "block_schema_id": schemas[0].ID, "data": map[string]any{"value": value},
	})
}

// requireSecrets reads block documents by their ids.
func (o *operator) requireSecrets(want map[string]string) {
	o.Helper()
	for id, value := range want {
		var block struct{ Data struct{ Value string } }
		status, err := o.client.get(o.Context(), o.orch.API()+"/block_documents/"+id+"?include_secrets=true", &block)
		require.NoError(o, err)
		require.Equal(o, http.StatusOK, status)
		require.Equal(o, value, block.Data.Value)
	}
}
