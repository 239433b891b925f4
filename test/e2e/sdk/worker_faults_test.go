//go:build e2esdk

package sdk

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// workerRuns of workerDeployments are executed by a process worker. Each run is a Python process of its own.
	workerRuns, workerDeployments = 50, 5
	workerTimeout                 = 12 * time.Minute
)

// TestFaultsOfWorkers kills every process of the server in turn while a stock process worker executes runs. All of them
// complete, and the worker submitted each of them once.
func TestFaultsOfWorkers(t *testing.T) {
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			o := form.start(t)
			killed := o.Processes
			if len(killed) == 1 {
				killed = slices.Repeat(killed, 3)
			}
			c := caller{t, o.API()}
			ended := make(chan result, 1)
			go func() {
				ended <- runWithin(t, workerTimeout, *environment, o.API(), "scenarios", "worker_runs",
					fmt.Sprintf("RUNS=%d", workerRuns), fmt.Sprintf("DEPLOYMENTS=%d", workerDeployments))
			}()
			for n, p := range killed {
				want := workerRuns * (2*n + 1) / (2*len(killed) + 1)
				var done int
				require.Eventually(t, func() bool { done = c.completedFlowRuns(); return done >= want }, workerTimeout, 20*time.Millisecond,
					"%d flow runs are completed", want)
				o.Restart(t, p)
				t.Logf("killed %s after %d flow runs", p.Name(), done)
			}
			r := <-ended
			require.NoError(t, r.err, r.output)
			c.submittedOnce()
		})
	}
}

// completedFlowRuns is how many flow runs the server knows as completed; -1 while it does not respond.
func (c caller) completedFlowRuns() int {
	var count int
	if c.ask(http.MethodPost, "/flow_runs/count", `{"flow_runs": {"state": {"type": {"any_": ["COMPLETED"]}}}}`, &count) != nil {
		return -1
	}
	return count
}

// betweenStates are the names of states that a run may have had too: nobody took it in time, or its worker creates its process.
var betweenStates = []string{"Late", "Submitting"}

// submittedOnce checks that every flow run was pending and running once.
func (c caller) submittedOnce() {
	c.t.Helper()
	var runs []run
	require.NoError(c.t, c.ask(http.MethodPost, "/flow_runs/filter", `{}`, &runs))
	require.Len(c.t, runs, workerRuns)
	for _, r := range runs {
		states := slices.DeleteFunc(c.states("/flow_run_states/?flow_run_id="+r.ID), func(name string) bool { return slices.Contains(betweenStates, name) })
		require.Equal(c.t, []string{"Scheduled", "Pending", "Running", "Completed"}, states, "flow run %s", r.Name)
	}
}
