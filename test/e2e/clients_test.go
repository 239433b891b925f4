//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// clientSources names the folder with checkouts of clients.
	clientSources = "ORCH_TEST_CLIENTS"
	// clientPython names the Python environment with what they need.
	clientPython = "ORCH_TEST_CLIENTS_PYTHON"
)

// otherClient is a client of Prefect's API that others publish.
type otherClient struct {
	name    string
	source  string   // Its checkout, in the folder of clientSources; empty if a package is enough.
	needs   []string // Programs.
	wait    time.Duration
	against func(context.Context, *testing.T, clientRun)
}

// clientRun is one client beside a server of its own.
type clientRun struct {
	dir    string // Its checkout.
	python string
	data   string // Our files for it.
	server *Orch
	env    []string
}

// command returns a command of the client, in its checkout.
func (r clientRun) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = r.dir, r.env
	return cmd
}

// succeeds runs a command that must succeed.
func (r clientRun) succeeds(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
}

var otherClients = []otherClient{
	{"terraform provider", "terraform-provider-prefect", []string{"go", "terraform"}, 30 * time.Minute, acceptanceTests},
	{"integration tests", "prefect", []string{"git"}, 30 * time.Minute, integrationTests},
	{"exporter", "prometheus-prefect-exporter", nil, 2 * time.Minute, exporter},
	{"MCP server", "", nil, 3 * time.Minute, func(ctx context.Context, t *testing.T, r clientRun) {
		r.succeeds(t, r.command(ctx, r.python, filepath.Join(r.data, "mcp_server.py")))
	}},
	{"operator", "prefect-operator", []string{"go"}, 15 * time.Minute, operatorsClient},
}

// TestClients runs what others have written for Prefect's API against the server: acceptance and integration tests, an exporter,
// an MCP server, and the operator's client. It skips a client whose source or programs are missing.
func TestClients(t *testing.T) {
	python := os.Getenv(clientPython)
	if python == "" {
		t.Skip(clientPython + " does not name a Python environment; make e2e-clients does")
	}
	root, err := repositoryRoot()
	require.NoError(t, err)
	for _, c := range otherClients {
		t.Run(c.name, func(t *testing.T) {
			r := clientRun{dir: t.TempDir(), python: filepath.Join(python, "bin", "python"), data: filepath.Join(root, "test", "e2e", "testdata", "clients")}
			for _, program := range append([]string{r.python}, c.needs...) {
				if _, err := exec.LookPath(program); err != nil {
					t.Skipf("%s is missing", program)
				}
			}
			if c.source != "" {
				if r.dir = filepath.Join(os.Getenv(clientSources), c.source); !isDir(r.dir) {
					t.Skipf("there is no checkout %s: make e2e-clients clones it, or CLIENTS names the folder with it", r.dir)
				}
			}
			r.server = StartSingle(t, programs, t.TempDir(), "ORCH_VOCABULARY=prefect")
			r.env = append(os.Environ(), "PREFECT_API_URL="+r.server.API(), "PREFECT_HOME="+t.TempDir(), "DO_NOT_TRACK=1", "NO_COLOR=1",
				"PATH="+filepath.Join(python, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
			ctx, cancel := context.WithTimeout(t.Context(), c.wait)
			defer cancel()
			c.against(ctx, t, r)
		})
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// failed matches a failed test in the output of "go test -v".
var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// failOnTheReference ends the names of acceptance tests that the Python server of 3.9.1 fails too: slots that decay leave a plan that is not empty.
const failOnTheReference = "_global_concurrency_limit"

// acceptanceTests runs those of Terraform's provider that concern a server without accounts.
func acceptanceTests(ctx context.Context, t *testing.T, r clientRun) {
	terraform, err := exec.LookPath("terraform")
	require.NoError(t, err)
	cmd := r.command(ctx, "go", "test", "-count=1", "-v", "-timeout=30m", "-run=^TestAcc", "./internal/provider/...")
	cmd.Env = append(cmd.Env, "GOWORK=off", "TF_ACC=1", "TEST_CONTEXT=OSS", "TF_ACC_TERRAFORM_PATH="+terraform, "CHECKPOINT_DISABLE=1")
	out, err := cmd.CombinedOutput()
	var names []string
	for _, match := range failed.FindAllSubmatch(out, -1) {
		if name := string(match[1]); !strings.HasSuffix(name, failOnTheReference) || strings.Contains(name, "deployment") {
			names = append(names, name)
		}
	}
	require.Empty(t, names, "%s", out)
	var exit *exec.ExitError
	if err != nil {
		require.ErrorAs(t, err, &exit, "%s", out)
	}
	require.NotContains(t, string(out), "[build failed]")
	require.Contains(t, string(out), "--- PASS: TestAcc")
}

// integrationTests runs the files of Prefect's own integration tests one by one. A file that needs another server, a container
// engine or a package index is listed with the reason.
func integrationTests(ctx context.Context, t *testing.T, r clientRun) {
	text, err := os.ReadFile(filepath.Join(r.data, "integration-tests.txt"))
	require.NoError(t, err)
	reasons := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, reason, found := strings.Cut(strings.TrimSpace(line), ": "); found && !strings.HasPrefix(line, "#") {
			reasons[name] = reason
		}
	}
	files, err := filepath.Glob(filepath.Join(r.dir, "integration-tests", "test_*.py"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".py"), func(t *testing.T) {
			if reason := reasons[filepath.Base(file)]; reason != "" {
				t.Skip(reason)
			}
			r.dir = t.TempDir()
			r.succeeds(t, r.command(ctx, r.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--asyncio-mode=auto", file))
		})
	}
}

// exporter reads the exporter's metrics, of which each family has the counts of the server.
func exporter(ctx context.Context, t *testing.T, r clientRun) {
	for _, made := range []struct{ path, body string }{
		{"/work_pools/", `{"name": "exported", "type": "process"}`},
		{"/flows/", `{"name": "exported"}`},
	} {
		t.Run(made.path, func(t *testing.T) {
			postJSON(ctx, t, r.server.API()+made.path, made.body)
		})
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	cmd := r.command(ctx, r.python, "main.py")
	cmd.Env = append(cmd.Env, "METRICS_ADDR=127.0.0.1", "METRICS_PORT="+port)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	metrics := ""
	require.Eventually(t, func() bool {
		response, err := http.Get("http://127.0.0.1:" + port + "/metrics")
		if err != nil {
			return false
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		metrics = string(text)
		return err == nil && strings.Contains(metrics, "prefect_work_queues_total 1.0")
	}, time.Minute, 200*time.Millisecond)
	for _, sample := range []string{"prefect_flows_total 1.0", "prefect_work_pools_total 1.0", "prefect_deployments_total 0.0", "prefect_flow_runs_total 0.0"} {
		require.Contains(t, metrics, sample)
	}
	require.NotContains(t, out.String(), "Traceback")
}

// operatorsClient runs a test of ours inside the operator's package, whose client is internal.
func operatorsClient(ctx context.Context, t *testing.T, r clientRun) {
	text, err := os.ReadFile(filepath.Join(r.data, "operator_test.go.txt"))
	require.NoError(t, err)
	dir := t.TempDir()
	test, overlay := filepath.Join(dir, "against_server_test.go"), filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(test, text, 0o600))
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(r.dir, "internal", "prefect", filepath.Base(test)): test}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, replaced, 0o600))
	cmd := r.command(ctx, "go", "test", "-count=1", "-v", "-overlay", overlay, "-run=^TestAgainstServer$", "./internal/prefect/")
	cmd.Env = append(cmd.Env, "GOWORK=off")
	r.succeeds(t, cmd)
}

func postJSON(ctx context.Context, t *testing.T, address, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Less(t, response.StatusCode, http.StatusMultipleChoices, fmt.Sprint(address, body))
}
