package standalone_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// dueFrame is what tests look at of a frame with due runs.
type dueFrame struct {
	Type    string `json:"type"`
	Payload struct {
		FlowRuns []struct {
			FlowRun struct {
				ID    string    `json:"id"`
				Start time.Time `json:"next_scheduled_start_time"`
			} `json:"flow_run"`
		} `json:"flow_runs"`
	} `json:"payload"`
}

// A worker that requests it receives a run at its start, without a poll: one that is created while it listens, and one that
// becomes due.
func TestWorkerChannelDeliversDueRuns(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	c := s.open("/work_pools/p/workers/connect")
	c.send(strings.Replace(helloOfWorker, `"other.v1"`, `"scheduled_flow_runs.v1"`, 1))
	ready := receiveFrame(t, c)
	require.Contains(t, ready.Payload.Accepted, "scheduled_flow_runs.v1")
	require.Empty(t, ready.Payload.Rejected)

	var flow struct {
		ID string `json:"id"`
	}
	require.Equal(t, http.StatusCreated, s.ask(http.MethodPost, "/flows/", `{"name":"f"}`, &flow))
	create := func(start time.Time) string {
		var run struct {
			ID string `json:"id"`
		}
		state, err := json.Marshal(map[string]any{"type": "SCHEDULED", "state_details": map[string]any{"scheduled_time": start}})
		require.NoError(t, err)
		require.Equal(t, http.StatusCreated, s.ask(http.MethodPost, "/flow_runs/",
			`{"flow_id":"`+flow.ID+`","work_pool_name":"p","job_variables":{"n":"1"},"state":`+string(state)+`}`, &run))
		return run.ID
	}
	receive := func() (string, time.Duration) {
		for {
			var f dueFrame
			require.NoError(t, json.Unmarshal([]byte(c.receive()), &f))
			if f.Type != "work_pool.flow_runs_due.v1" {
				continue
			}
			require.Len(t, f.Payload.FlowRuns, 1)
			one := f.Payload.FlowRuns[0].FlowRun
			return one.ID, time.Since(one.Start)
		}
	}
	for name, ahead := range map[string]time.Duration{"at once": 0, "soon": time.Second} {
		want := create(time.Now().Add(ahead))
		id, late := receive()
		require.Equal(t, want, id, name)
		require.Positive(t, late, "%s: not before its start", name)
		t.Logf("%s: %s after the start", name, late) // A busy machine makes it longer.
		require.Equal(t, http.StatusCreated, s.ask(http.MethodPost, "/flow_runs/"+id+"/set_state", `{"state":{"type":"PENDING"}}`, nil))
	}
}
