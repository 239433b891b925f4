package cli_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/standalone/internal/cli"
	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// workplace is a server with a flow, a deployment, flow runs and their logs.
type workplace struct {
	*shell
	server *remote.Server
	flow   string
}

func newWorkplace(t *testing.T) *workplace {
	t.Helper()
	s, api := newShell(t)
	w := &workplace{shell: s, server: &remote.Server{API: api, Key: s.known[1][0]}}
	w.flow = w.create("/flows/", map[string]any{"name": "load-orders"})
	w.create("/deployments/", map[string]any{"name": "nightly", "flow_id": w.flow, "tags": []string{"etl"}, "paused": false})
	return w
}

// create posts a resource and returns its id.
func (w *workplace) create(path string, body map[string]any) string {
	w.t.Helper()
	created, err := remote.Read[struct{ ID string }](w.t.Context(), w.server, http.MethodPost, path, body)
	require.NoError(w.t, err)
	return created.ID
}

// flowRun creates a flow run in a state, whose log has two lines.
func (w *workplace) flowRun(name, state string) string {
	w.t.Helper()
	id := w.create("/flow_runs/", map[string]any{"flow_id": w.flow, "name": name, "state": map[string]any{"type": state, "name": strings.ToUpper(state[:1]) + strings.ToLower(state[1:])}})
	line := func(level int, message string, second int) map[string]any {
		return map[string]any{
			"flow_run_id": id, "level": level, "message": message, "name": "orch.flow_runs",
			"timestamp": time.Date(2026, 3, 2, 9, 0, second, 0, time.UTC),
		}
	}
	failure := line(40, "The table is locked", 2)
	failure["task_run_id"] = w.create("/task_runs/", map[string]any{"flow_run_id": id, "name": "load-0", "task_key": "load", "dynamic_key": "0"})
	_, err := w.server.Call(w.t.Context(), http.MethodPost, "/logs/", []any{line(20, "Load orders", 1), failure})
	require.NoError(w.t, err)
	return id
}

// TestCommandsForPeople: what someone does in a day, with the shortest command, and what a mistake is answered with.
func TestCommandsForPeople(t *testing.T) {
	w := newWorkplace(t)
	w.shell.run("deployment", "ls")
	w.shell.run("deployment", "ls", "-o", "yaml", "--nonsense")
	w.shell.run("deployment", "run", "nightli")
	w.shell.run("deployment", "run", "load-orders/nightly", "--param", "day", "--name", "bad")
	w.shell.run("deployment", "run", "nightly", "--name", "tuesday", "-o", "json", "--every", "0s")
	w.shell.run("deployment", "pause", "nightly")
	w.shell.run("deployment", "resume", "nightly")
	w.shell.run("deployment", "resume", "load-orders/weekly")
	hourly := w.create("/deployments/", map[string]any{
		"name": "hourly", "flow_id": w.flow, "schedules": []any{map[string]any{"active": false, "schedule": map[string]any{"interval": 3600}}},
		"parameter_openapi_schema": map[string]any{"type": "object", "properties": map[string]any{"day": map[string]any{"type": "string"}}},
	})
	for day, name := range []string{"tomorrow", "day-after"} {
		w.create("/deployments/"+hourly+"/create_flow_run", map[string]any{"name": name, "state": map[string]any{
			"type": "SCHEDULED", "state_details": map[string]any{"scheduled_time": time.Now().AddDate(0, 0, day+1)},
		}})
	}
	w.shell.run("deployment", "ls")
	w.shell.run("deployment", "run", "hourly", "-p", "dey=2026")
	w.shell.run("deployment", "run", "load-orders/nightly", "--param", "day=2026-03-02", "-p", "full=true", "--name", "monday")
	w.flowRun("broken", "FAILED")
	w.shell.run("flow-run", "ls", "--flow", "load-orders", "--state", "failed")
	w.shell.run("flow-run", "ls", "--deployment", "hourly")
	w.shell.run("flow-run", "ls", "--deployment", "hourly", "--upcoming")
	w.shell.run("flow-run", "ls", "--deployment", "hourly", "--upcoming", "--limit", "1")
	w.shell.run("flow-run", "ls", "--upcoming", "--state", "scheduled")
	w.shell.run("flow-run", "ls", "--flow", "load-ordrs")
	w.shell.run("flow-run", "ls", "--deployment", "nope")
	w.shell.run("flow-run", "ls", "--limit", "0")
	w.shell.run("flow-run", "ls", "--state", "faild")
	w.shell.run("flow-run", "logs", "broken")
	w.shell.run("flow-run", "logs", "broken", "--follow")
	w.shell.run("flow-run", "logs", "brokn")
	w.shell.run("flow-run", "cancel", "broken")
	w.shell.run("flow-run", "cancel", "monday")
	w.shell.run("flow-run", "retry", "broken")
	w.shell.run("flow-run", "inspekt", "broken")
	w.shell.run("flow-runs", "ls", "--outputt", "json")
	w.shell.run("event", "ls", "--event", "nothing.happened")
	w.shell.run("events", "tial")
	w.shell.run("webhoks", "ls")
	w.golden("people.txt")

	// The shell completes names from the server.
	completed, err := w.try("", "__complete", "flow-run", "inspect", "bro")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(completed, "broken\n:4"), completed)

	// YAML has what JSON has, in the same order.
	jsonText, err := w.try("", "flow-run", "inspect", "broken", "-o", "json")
	require.NoError(t, err)
	yamlText, err := w.try("", "flow-run", "inspect", "broken", "-o", "yaml")
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(jsonText), &fields))
	for _, key := range []string{"name", "flow_id", "state"} {
		require.Contains(t, yamlText, "\n"+key+":")
	}
	require.True(t, strings.HasPrefix(yamlText, "id: "+fields["id"].(string)), yamlText)
}

// TestEventsAreFollowed: each event is shown once, whatever the polls overlap.
func TestEventsAreFollowed(t *testing.T) {
	w := newWorkplace(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := &lines{found: make(chan struct{}, 1), want: "orders.paid"}
	done := make(chan error, 1)
	go func() {
		cmd := cli.New("test")
		cmd.SetArgs([]string{"events", "tail", "--event", "orders.*", "--every", "10ms", "--since", "1m"})
		cmd.SetOut(out)
		done <- cmd.ExecuteContext(ctx)
	}()
	_, err := w.server.Call(t.Context(), http.MethodPost, "/events", []any{map[string]any{
		"id": uuid.NewString(), "event": "orders.paid", "occurred": time.Now().UTC(), "resource": map[string]string{"orch.resource.id": "order.1"},
	}})
	require.NoError(t, err)
	select {
	case <-out.found:
	case <-ctx.Done():
		t.Fatal("the event was not shown")
	}
	cancel()
	require.NoError(t, <-done)
	require.Contains(t, out.text, "order.1")
}

// lines collects what a command prints until a text is there.
type lines struct {
	text, want string
	found      chan struct{}
}

func (l *lines) Write(p []byte) (int, error) {
	l.text += string(p)
	if strings.Contains(l.text, l.want) {
		select {
		case l.found <- struct{}{}:
		default:
		}
	}
	return len(p), nil
}

// TestWatchEndsWithTheRun, and the exit code says how it ended.
func TestWatchEndsWithTheRun(t *testing.T) {
	w := newWorkplace(t)
	ended := make(chan error, 1)
	var shown string
	go func() {
		var err error
		shown, err = w.try("", "deployment", "run", "nightly", "--name", "watched", "--watch", "--every", "10ms")
		ended <- err
	}()
	var id string
	require.Eventually(t, func() bool {
		found, err := remote.Read[[]struct{ ID string }](t.Context(), w.server, http.MethodPost, "/flow_runs/filter",
			map[string]any{"flow_runs": map[string]any{"name": map[string]any{"any_": []string{"watched"}}}})
		if err != nil || len(found) == 0 {
			return false
		}
		id = found[0].ID
		return true
	}, 20*time.Second, 10*time.Millisecond)
	for _, state := range []string{"PENDING", "RUNNING", "FAILED"} {
		_, err := w.server.Call(t.Context(), http.MethodPost, "/flow_runs/"+id+"/set_state", map[string]any{"state": map[string]any{"type": state}, "force": true})
		require.NoError(t, err)
	}
	err := <-ended
	require.ErrorContains(t, err, "did not complete")
	require.Equal(t, 1, cli.ExitCode(err))
	require.Contains(t, shown, "watched is Failed")
}
