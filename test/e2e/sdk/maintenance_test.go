//go:build e2esdk

package sdk

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/test/e2e"
)

var (
	steadyFlows = flag.Int("flows", 500, "how many flows run during the maintenance")
	storeAway   = flag.Duration("away", 10*time.Minute, "how long the store is away")
)

// steadyVersions are the SDKs of these flows. Their environments are beside the given one.
var steadyVersions = []string{"3.3", "3.6", "3.9"}

// steadyEvery is the time between two tasks of a flow.
const steadyEvery = 20 * time.Second

// TestMaintenance lets flows of three versions of the SDK run during an outage of the store, and while each process is replaced in a maintenance.
// None of them fails or crashes, and each of their task runs is stored. A single process has no store that could be away alone.
func TestMaintenance(t *testing.T) {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\nform\tSDK\tflows\tcompleted\tfailed\tcrashed\ttask runs\tlost\t")
	settings := []string{asPrefect, "ORCH_RUN_MONITOR_EVERY=5s"}
	t.Run("one process", func(t *testing.T) {
		w := startSteady(t, e2e.StartSingleAt(t, programs, t.TempDir(), e2e.FreeAddress(t), settings...))
		w.upgrade()
		w.end("one process", table)
	})
	t.Run("three processes", func(t *testing.T) {
		infra := e2e.StartInfra(t, programs, t.TempDir())
		store := testkit.StartChaos(t, infra.MongoAddress)
		w := startSteady(t, e2e.StartServices(t, programs, infra, append(settings, "ORCH_MONGODB_URI="+infra.MongoURIAt(store.Addr()))...))
		store.Cut()
		w.pass(*storeAway)
		store.Heal()
		w.orch.WaitReady(t)
		w.pass(steadyEvery)
		w.upgrade()
		w.end("three processes", table)
	})
	require.NoError(t, table.Flush())
	t.Log(text.String())
}

// steady is a server with flows that go on.
type steady struct {
	*testing.T
	orch  *e2e.Orch
	api   caller
	until string // The file that ends the flows.
	ended map[string]chan result
}

// startSteady starts the flows, and waits until all of them run.
func startSteady(t *testing.T, o *e2e.Orch) *steady {
	t.Helper()
	w := &steady{T: t, orch: o, api: caller{t, o.API()}, until: filepath.Join(t.TempDir(), "until"), ended: map[string]chan result{}}
	var rules json.RawMessage
	require.NoError(t, w.api.ask(http.MethodPut, "/admin/run_timeouts", `{"rules": [{"heartbeat_interval": "PT30S"}]}`, &rules))
	for _, version := range steadyVersions {
		ended := make(chan result, 1)
		w.ended[version] = ended
		go func() {
			ended <- runWithin(t, *storeAway+waitTimeout, *environment+"-"+version, o.API(), "scenarios", "x_maintenance",
				"FLOW_NAME=steady-"+version, fmt.Sprintf("FLOWS=%d", w.flows()), fmt.Sprintf("EVERY=%.0f", steadyEvery.Seconds()), "UNTIL="+w.until,
				"PREFECT_FLOWS_HEARTBEAT_FREQUENCY=30", "PREFECT_RUNNER_HEARTBEAT_FREQUENCY=30", "PREFECT_LOGGING_LEVEL=WARNING")
		}()
	}
	require.Eventually(t, func() bool {
		return w.count("flow_runs", "", "RUNNING") == len(steadyVersions)*w.flows() && w.count("task_runs", "", "COMPLETED") >= len(steadyVersions)*w.flows()
	}, waitTimeout, time.Second, "all flows run a task")
	return w
}

// flows is the number of flows of one version.
func (w *steady) flows() int { return *steadyFlows / len(steadyVersions) }

// pass lets time pass.
func (w *steady) pass(d time.Duration) {
	select {
	case <-time.After(d):
	case <-w.Context().Done():
	}
}

// upgrade replaces each process in a maintenance.
func (w *steady) upgrade() {
	w.Helper()
	maintenance := func(state string) {
		w.Helper()
		out, err := exec.CommandContext(w.Context(), programs.Path("orch"), "maintenance", state, "--api-url", w.orch.API()).CombinedOutput()
		require.NoError(w, err, string(out))
	}
	maintenance("on")
	for _, p := range w.orch.Processes {
		require.NoError(w, p.Stop(time.Minute))
		require.NoError(w, p.Restart())
		w.orch.WaitReady(w)
		w.pass(steadyEvery / 2)
	}
	maintenance("off")
	w.pass(steadyEvery)
}

// end ends the flows, adds their rows to a table, and checks them.
func (w *steady) end(form string, table *tabwriter.Writer) {
	w.Helper()
	require.NoError(w, os.WriteFile(w.until, nil, 0o600))
	for _, version := range steadyVersions {
		r := <-w.ended[version]
		var tasks int
		_, after, _ := strings.Cut(r.output, "TASKS ")
		_, err := fmt.Sscan(after, &tasks)
		require.NoError(w, cmp.Or(r.err, err), "SDK %s: %s", version, r.output)
		stored := 0
		// The events of the whole outage wait in the broker when the store is back.
		require.Eventually(w, func() bool { stored = w.count("task_runs", version, "COMPLETED"); return stored >= tasks }, waitTimeout, time.Second,
			"SDK %s: task runs are stored", version)
		completed, failed, crashed := w.count("flow_runs", version, "COMPLETED"), w.count("flow_runs", version, "FAILED"), w.count("flow_runs", version, "CRASHED")
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", form, version, w.flows(), completed, failed, crashed, tasks, tasks-stored)
		require.Equal(w, w.flows(), completed, "SDK %s", version)
		require.Equal(w, tasks, stored, "SDK %s", version)
		require.Equal(w, tasks, w.count("task_runs", version, ""), "SDK %s", version)
	}
}

// count returns the number of runs of a version's flow in a state, of all versions and states without one; -1 while the server does not respond.
func (w *steady) count(collection, version, state string) int {
	filters := map[string]any{}
	if version != "" {
		filters["flows"] = map[string]any{"name": map[string]any{"any_": []string{"steady-" + version}}}
	}
	if state != "" {
		filters[collection] = map[string]any{"state": map[string]any{"type": map[string]any{"any_": []string{state}}}}
	}
	body, err := json.Marshal(filters)
	require.NoError(w, err)
	var n int
	if w.api.ask(http.MethodPost, "/"+collection+"/count", string(body), &n) != nil {
		return -1
	}
	return n
}
