//go:build e2eweb

package web

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// The amounts that the journeys read.
const (
	manyRuns       = 1000
	manyTasks      = 2000
	manyDeliveries = 500
	seeders        = 8
)

// concurrently calls a function for each number below n, on a few goroutines.
func concurrently(n int, do func(i int)) {
	var group sync.WaitGroup
	for first := range seeders {
		group.Go(func() {
			for i := first; i < n; i += seeders {
				do(i)
			}
		})
	}
	group.Wait()
}

// seedMany creates a thousand runs, a run of two thousand tasks, and five hundred deliveries. It returns the id of that run.
func seedMany(t *testing.T, api string) string {
	t.Helper()
	s := seeder{t, api}
	flow := s.post("/flows/", object{"name": "many"})
	states := []string{"COMPLETED", "COMPLETED", "COMPLETED", "FAILED", "CRASHED", "CANCELLED", "RUNNING", "PENDING", "SCHEDULED", "PAUSED"}
	concurrently(manyRuns, func(i int) {
		s.post("/flow_runs/", object{
			"flow_id": flow, "name": fmt.Sprintf("run-%d", i), "tags": []string{"many", fmt.Sprintf("tag-%d", i%20)}, "state": object{"type": states[i%len(states)]},
		})
	})
	run := s.post("/flow_runs/", object{"flow_id": flow, "name": "wide " + strings.Repeat("🦑", 250), "state": object{"type": "RUNNING"}})
	concurrently(manyTasks, func(i int) {
		task := s.post("/task_runs/", object{
			"flow_run_id": run, "task_key": fmt.Sprintf("task-%d", i%7), "dynamic_key": fmt.Sprint(i), "name": fmt.Sprintf("task-%d-%d", i%7, i), "state": object{"type": "RUNNING"},
		})
		if i%2 == 0 {
			s.post("/task_runs/"+task+"/set_state", object{"state": object{"type": "COMPLETED"}, "force": true})
		}
	})
	s.post("/flow_runs/", object{
		"flow_id": flow, "name": "far", "state": object{"type": "SCHEDULED", "state_details": object{"scheduled_time": "9999-12-31T23:59:59Z"}},
	})
	var webhook struct{ ID, URL string }
	require.Equal(t, http.StatusCreated, call(t, http.MethodPost, api+"/webhooks/", object{"name": "many", "template": mendedTemplate}, &webhook))
	require.Eventually(t, func() bool { return deliver(t, webhook.URL, 0) == http.StatusNoContent }, startWait, poll)
	concurrently(manyDeliveries-1, func(i int) { require.Equal(t, http.StatusNoContent, deliver(t, webhook.URL, i)) })
	return run
}
