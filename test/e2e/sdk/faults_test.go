//go:build e2esdk

package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// flows is the number of concurrent flows, each with that many mapped tasks.
	flows, tasks = 4, 50
	// settled bounds the time in which the broker brings the last events to the store.
	settled = time.Minute
)

// TestFaults kills every process of the server in turn, and restarts it at once, while flows run. All of them complete,
// and each run goes through its states once.
func TestFaults(t *testing.T) {
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			o := form.start(t)
			killed := o.Processes
			if len(killed) == 1 {
				killed = slices.Repeat(killed, 3)
			}
			c := caller{t, o.API()}
			results := make([]result, flows)
			var running sync.WaitGroup
			for i := range flows {
				running.Go(func() { results[i] = runScript(t, o.API(), "mapped_flow", fmt.Sprintf("FLOW_NAME=mapped-%d", i)) })
			}
			for n, p := range killed {
				// The kills are spread over the work, the last one before its end.
				done := c.reach(flows * tasks * (2*n + 1) / (2*len(killed) + 1))
				o.Restart(t, p)
				t.Logf("killed %s after %d task runs", p.Name(), done)
			}
			running.Wait()
			for i, r := range results {
				require.NoError(t, r.err, "flow %d: %s", i, r.output)
			}
			require.Eventually(t, func() bool { return c.completed() == flows*tasks }, settled, 50*time.Millisecond,
				"%d task runs are completed", flows*tasks)
			c.once()
		})
	}
}

// caller calls the server directly.
type caller struct {
	t   *testing.T
	api string
}

// completed returns the number of completed task runs; -1 while the server does not respond.
func (c caller) completed() int {
	var count int
	if c.ask(http.MethodPost, "/task_runs/count", `{"task_runs": {"state": {"type": {"any_": ["COMPLETED"]}}}}`, &count) != nil {
		return -1
	}
	return count
}

// reach waits until that many task runs are completed and returns the number.
func (c caller) reach(want int) int {
	c.t.Helper()
	var done int
	require.Eventually(c.t, func() bool { done = c.completed(); return done >= want }, waitTimeout, 20*time.Millisecond,
		"%d task runs are completed", want)
	return done
}

// run has the checked fields of a run.
type run struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// once checks that every flow run and task run exists once and has the states of an undisturbed run.
func (c caller) once() {
	c.t.Helper()
	var flowRuns []run
	require.NoError(c.t, c.ask(http.MethodPost, "/flow_runs/filter", `{}`, &flowRuns))
	require.Len(c.t, flowRuns, flows)
	for _, r := range flowRuns {
		require.Equal(c.t, []string{"Pending", "Running", "Completed"}, c.states("/flow_run_states/?flow_run_id="+r.ID), "flow run %s", r.Name)
	}
	var taskRuns []run
	require.NoError(c.t, c.ask(http.MethodPost, "/task_runs/filter", `{"limit": 200}`, &taskRuns))
	require.Len(c.t, taskRuns, flows*tasks)
	var total int
	require.NoError(c.t, c.ask(http.MethodPost, "/task_runs/count", `{}`, &total))
	require.Equal(c.t, flows*tasks, total)
	for _, r := range taskRuns {
		require.Equal(c.t, []string{"Pending", "Running", "Completed"}, c.states("/task_run_states/?task_run_id="+r.ID), "task run %s", r.Name)
	}
}

// state has the checked fields of a state.
type state struct {
	Name      string    `json:"name"`
	Timestamp time.Time `json:"timestamp"`
}

// states returns the names of a run's states in order.
func (c caller) states(path string) []string {
	c.t.Helper()
	var states []state
	require.NoError(c.t, c.ask(http.MethodGet, path, "", &states))
	slices.SortFunc(states, func(a, b state) int { return a.Timestamp.Compare(b.Timestamp) })
	var names []string
	for _, s := range states {
		names = append(names, s.Name)
	}
	return names
}

// ask sends a request and decodes the response into out.
func (c caller) ask(method, path, body string, out any) error {
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.api+path, bytes.NewBufferString(body))
	if err != nil {
		return fmt.Errorf("call %s: %w", path, err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("decode response of %s: %w", path, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s responds %s: %s", path, response.Status, text)
	}
	return json.Unmarshal(text, out)
}
