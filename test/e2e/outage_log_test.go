//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// outageLines bounds the warnings and errors of one service during one outage of broker and store: a line for each of them,
// for orchestration when it goes, and for what was in progress.
const outageLines = 6

// TestLogLinesOfAnOutage starts the services before broker and store, and takes these away later. A service waits, not ready,
// and logs changes only.
func TestLogLinesOfAnOutage(t *testing.T) {
	t.Parallel()
	mongo, nats := FreeAddress(t), FreeAddress(t)
	dir := t.TempDir()
	start := func() *Process {
		return Start(t, "orch infra", nil, programs.Path("orch"), "infra", "--data-dir", dir, "--mongo-listen", mongo, "--nats-listen", nats)
	}
	infra := start() // For the keys.
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	_, err := infra.Line(ctx, "secrets")
	require.NoError(t, err)
	infra.Kill()

	port := map[string]string{}
	env := []string{
		"ORCH_LOG_FORMAT=json",
		"ORCH_MONGODB_URI_FILE=" + filepath.Join(dir, "store.uri"), "ORCH_NATS_URL_FILE=" + filepath.Join(dir, "broker.url"),
		"ORCH_SECRETS_KEY_FILE=" + filepath.Join(dir, "secrets.key"),
	}
	for _, name := range []string{"orchestration", "hooks", "gateway"} {
		port[name] = FreeAddress(t)
		port[name+" internal"] = FreeAddress(t)
		upper := "ORCH_" + strings.ToUpper(name)
		env = append(env, upper+"_LISTEN="+port[name], upper+"_INTERNAL_LISTEN="+port[name+" internal"])
	}
	env = append(env, "ORCH_ORCHESTRATION_ADDR="+port["orchestration"], "ORCH_HOOKS_ADDR="+port["hooks"])
	services := map[string]*Process{}
	for _, name := range []string{"orchestration", "hooks", "gateway"} {
		services[name] = Start(t, name, env, programs.Path(name))
	}
	ready := func(status int) {
		t.Helper()
		for name := range services {
			require.NoError(t, WaitFor(ctx, "http://"+port[name+" internal"]+"/ready", status), name)
			require.NoError(t, WaitFor(ctx, "http://"+port[name+" internal"]+"/health", http.StatusOK), name)
		}
	}
	seen := map[string]int{}
	requireFewLines := func(phase string) {
		t.Helper()
		for name, p := range services {
			lines := warnings(t, p.Output())
			t.Logf("%s, %s: %d lines", phase, name, len(lines)-seen[name])
			require.LessOrEqual(t, len(lines)-seen[name], outageLines, "%s, %s:\n%s", phase, name, strings.Join(lines[seen[name]:], "\n"))
			seen[name] = len(lines)
		}
	}
	ready(http.StatusServiceUnavailable)
	wait(ctx, outage)
	requireFewLines("away at the start")
	infra = start()
	ready(http.StatusOK)
	requireFewLines("first start")
	infra.Kill()
	ready(http.StatusServiceUnavailable)
	wait(ctx, 2*outage)
	requireFewLines("away")
	start()
	ready(http.StatusOK)
	requireFewLines("back")
}

// warnings are the log lines above info.
func warnings(t *testing.T, output string) (lines []string) {
	t.Helper()
	scan := bufio.NewScanner(strings.NewReader(output))
	for scan.Scan() {
		var line struct{ Level string }
		if json.Unmarshal(scan.Bytes(), &line) != nil || line.Level != "INFO" {
			lines = append(lines, scan.Text())
		}
	}
	return lines
}
