package cli_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/standalone/internal/remote"
)

// flowRunRecord has the fields of a flow run that the tests read.
type flowRunRecord struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	Tags     []string   `json:"tags"`
	Expected *time.Time `json:"expected_start_time"`
	State    struct{ Type, Name string }
}

// listed returns the flow runs that a command prints.
func (s *shell) listed(args ...string) (names []string) {
	s.t.Helper()
	out, err := s.try("", append(args, "-o", "json")...)
	require.NoError(s.t, err, out)
	var runs []flowRunRecord
	require.NoError(s.t, json.Unmarshal([]byte(out), &runs))
	for _, run := range runs {
		names = append(names, run.Name)
	}
	return names
}

// read returns a flow run as the API has it.
func (w *workplace) read(id string) flowRunRecord {
	w.t.Helper()
	run, err := remote.Read[flowRunRecord](w.t.Context(), w.server, http.MethodGet, "/flow_runs/"+id, nil)
	require.NoError(w.t, err)
	return run
}

func TestADeploymentRunsLaterWithTags(t *testing.T) {
	w := newWorkplace(t)
	out, err := w.try("", "deployment", "run", "nightly", "--in", "2h", "--tag", "again", "--tag", "manual", "-o", "json")
	require.NoError(t, err, out)
	var run flowRunRecord
	require.NoError(t, json.Unmarshal([]byte(out), &run))
	require.ElementsMatch(t, []string{"etl", "again", "manual"}, run.Tags)
	require.WithinRange(t, *run.Expected, time.Now().Add(time.Hour), time.Now().Add(3*time.Hour))
}

func TestFlowRunsAreFoundByNameAndTime(t *testing.T) {
	w := newWorkplace(t)
	for _, name := range []string{"early-load", "load-two", "other"} {
		w.create("/flow_runs/", map[string]any{"flow_id": w.flow, "name": name, "state": map[string]any{"type": "RUNNING"}})
	}
	hourAgo, hourAhead := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339), time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	require.ElementsMatch(t, []string{"early-load", "load-two"}, w.listed("flow-run", "ls", "--name", "load"))
	require.Len(t, w.listed("flow-run", "ls", "--from", hourAgo, "--to", hourAhead), 3)
	require.Empty(t, w.listed("flow-run", "ls", "--from", hourAhead))
	require.Empty(t, w.listed("flow-run", "ls", "--to", hourAgo))
	require.ElementsMatch(t, []string{"load-two"}, w.listed("flow-run", "ls", "--name", "two", "--from", hourAgo, "--state", "running"))
	require.Empty(t, w.listed("flow-run", "ls", "--name", "two", "--state", "failed"))
	_, err := w.try("", "flow-run", "ls", "--from", "yesterday")
	require.ErrorContains(t, err, "--from is like 2026-03-01T02:00:00Z")
}

func TestLogsOfTheRunThatFailedLast(t *testing.T) {
	w := newWorkplace(t)
	_, err := w.try("", "flow-run", "logs")
	require.ErrorContains(t, err, "no flow run has failed")

	id := w.flowRun("broken", "FAILED")
	out, err := w.try("", "flow-run", "logs")
	require.NoError(t, err, out)
	require.Contains(t, out, "Load orders")
	require.Contains(t, out, "The table is locked")

	out, err = w.try("", "flow-run", "logs", "broken", "--failed")
	require.NoError(t, err, out)
	require.NotContains(t, out, "The table is locked", "its task run has not failed")
	failed := w.create("/task_runs/", map[string]any{
		"flow_run_id": id, "name": "load-1", "task_key": "load", "dynamic_key": "1", "state": map[string]any{"type": "FAILED", "name": "Failed"},
	})
	_, err = w.server.Call(t.Context(), http.MethodPost, "/logs/", []any{map[string]any{
		"flow_run_id": id, "task_run_id": failed, "level": 40, "message": "The disk is full", "name": "orch.task_runs", "timestamp": time.Now(),
	}})
	require.NoError(t, err)
	out, err = w.try("", "flow-run", "logs", "broken", "--failed")
	require.NoError(t, err, out)
	require.Contains(t, out, "The disk is full")
	require.NotContains(t, out, "Load orders")
}

func TestLateRunsOfADeploymentAreCancelled(t *testing.T) {
	w := newWorkplace(t)
	deployment := w.create("/deployments/", map[string]any{"name": "hourly", "flow_id": w.flow})
	run := func(state map[string]any) string {
		return w.create("/deployments/"+deployment+"/create_flow_run", map[string]any{"state": state})
	}
	overdue := run(map[string]any{"type": "SCHEDULED", "name": "Late", "state_details": map[string]any{"scheduled_time": time.Now().Add(-time.Hour)}})
	upcoming := run(map[string]any{"type": "SCHEDULED", "state_details": map[string]any{"scheduled_time": time.Now().Add(time.Hour)}})
	out, err := w.try("", "flow-run", "cancel", "--late", "hourly", "--yes")
	require.NoError(t, err, out)
	require.Contains(t, out, "Cancelled 1 late runs.")
	require.Equal(t, "CANCELLED", w.read(overdue).State.Type)
	require.Equal(t, "SCHEDULED", w.read(upcoming).State.Type)
	_, err = w.try("", "flow-run", "cancel")
	require.ErrorContains(t, err, "either a flow run or --late is required")
}

func TestAPausedRunIsResumed(t *testing.T) {
	w := newWorkplace(t)
	id := w.create("/flow_runs/", map[string]any{"flow_id": w.flow, "name": "release", "state": map[string]any{"type": "RUNNING"}})
	_, err := w.server.Call(t.Context(), http.MethodPost, "/flow_runs/"+id+"/set_state", map[string]any{"state": map[string]any{
		"type": "PAUSED", "name": "Paused", "state_details": map[string]any{"pause_timeout": time.Now().Add(time.Hour), "pause_key": "1"},
	}})
	require.NoError(t, err)
	out, err := w.try("", "flow-run", "resume", "release", "--input", "approved=true")
	require.NoError(t, err, out)
	require.NotEqual(t, "PAUSED", w.read(id).State.Type)
	out, err = w.try("", "flow-run", "resume", "release")
	require.Error(t, err, out)
}

func TestDeadLettersOfACauseAreRetried(t *testing.T) {
	w := newWorkplace(t)
	w.create("/automations/", map[string]any{
		"name":    "mail",
		"trigger": map[string]any{"type": "event", "posture": "Reactive", "expect": []string{"boom"}, "threshold": 1},
		"actions": []any{map[string]any{"type": "send-email-notification", "emails": []string{"ops@example.com"}, "subject": "s", "body": "b"}},
	})
	out, err := w.try("", "event", "create", "boom", "--resource", "run.1")
	require.NoError(t, err, out)
	w.eventually("has no SMTP server", "dead-letter", "ls")
	out, err = w.try("", "dead-letter", "retry", "--cause", "connection refused")
	require.NoError(t, err, out)
	require.Contains(t, out, "No dead letter has this cause.")
	_, err = w.try("", "dead-letter", "retry", "--cause", "no SMTP server")
	require.ErrorContains(t, err, "retry ", "the server still has no SMTP server")
	_, err = w.try("", "dead-letter", "retry")
	require.ErrorContains(t, err, "either ids or --cause are required")
}

// The command does not know the vocabulary of the server. A refusal is about the event, not about labels of the other vocabulary.
func TestEventsAreCreatedInTheVocabularyOfTheServer(t *testing.T) {
	s, _ := newShellWith(t, map[string]string{"ORCH_VOCABULARY": "prefect"})
	out, err := s.try("", "event", "create", "order.paid", "--resource", "order.5", "-o", "json")
	require.NoError(t, err, out)
	require.Contains(t, out, `"prefect.resource.id": "order.5"`)
	_, err = s.try("", "event", "create", "", "--resource", "order.5")
	require.ErrorContains(t, err, "0.event: String should have at least 1 character")
	_, err = s.try("", "event", "create", "order.paid", "--resource", "")
	require.ErrorContains(t, err, "The prefect.resource.id label must be non-empty")
}
