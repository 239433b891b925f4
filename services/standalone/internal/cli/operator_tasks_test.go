package cli_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/request"
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

func TestUpcomingRunsStandAboveTheLastOnes(t *testing.T) {
	w := newWorkplace(t)
	deployment := w.create("/deployments/", map[string]any{"name": "hourly", "flow_id": w.flow})
	run := func(name string, state map[string]any) {
		w.create("/deployments/"+deployment+"/create_flow_run", map[string]any{"name": name, "state": state})
	}
	in := func(hours int) map[string]any {
		at := time.Now().Add(time.Duration(hours) * time.Hour)
		return map[string]any{"type": "SCHEDULED", "state_details": map[string]any{"scheduled_time": at}}
	}
	run("soon", in(1))
	run("later", in(2))
	run("first", map[string]any{"type": "RUNNING"})
	run("second", map[string]any{"type": "RUNNING"})
	require.Equal(t, []string{"later", "soon", "second", "first"}, w.listed("flow-run", "ls", "--all", "--deployment", "hourly"))
	out, err := w.try("", "flow-run", "ls", "--all", "--limit", "1", "-o", "name")
	require.NoError(t, err, out)
	require.True(t, strings.HasPrefix(out, "soon\nsecond\nThere may be more"), out)
	_, err = w.try("", "flow-run", "ls", "--all", "--name", "soon")
	require.ErrorContains(t, err, "all name")
}

func TestANewWorkPoolSaysHowToStartAWorker(t *testing.T) {
	for vocab, says := range map[string]bool{"orch": false, "prefect": true} {
		t.Run(vocab, func(t *testing.T) {
			s, api := newShellWith(t, map[string]string{"ORCH_VOCABULARY": vocab})
			out, err := s.try("", "work-pool", "create", "local", "--type", "process")
			require.NoError(t, err, out)
			line := "PREFECT_CLOUD_API_URL=" + api + " "
			require.Equal(t, says, strings.Contains(out, line), out)
			require.Equal(t, says, strings.Contains(out, `PREFECT_API_KEY="$ORCH_API_KEY" prefect worker start --pool 'local'`), out)
			out, err = s.try("", "work-pool", "create", "quiet", "--type", "process", "-q")
			require.NoError(t, err)
			require.NotContains(t, out, "worker")
		})
	}
}

func TestCallsAreShownAsCurlCommands(t *testing.T) {
	s, api := newShell(t)
	key, workspace := s.known[1][0], api+"/accounts/"+request.DefaultAccount.String()+"/workspaces/"+request.DefaultWorkspace.String()
	out, err := s.try("", "variable", "create", "region", "--value", "eu", "--curl")
	require.NoError(t, err, out)
	require.Contains(t, out, `curl '`+workspace+`/variables/' -H "Authorization: Bearer $ORCH_API_KEY" -H 'Content-Type: application/json' -d '{"name":"region","value":"eu"}'`+"\n")
	require.NotContains(t, out, key)
	out, err = s.try("", "variable", "inspect", "region", "--curl", "-o", "json")
	require.NoError(t, err, out)
	require.Contains(t, out, "curl '"+workspace+"/variables/filter'")
}

func TestADeliveryIsFollowedToTheLogOfItsRun(t *testing.T) {
	w := newWorkplace(t)
	w.create("/automations/", map[string]any{
		"name": "on push", "trigger": map[string]any{"type": "event", "posture": "Reactive", "expect": []string{"push"}, "threshold": 1},
		"actions": []any{map[string]any{"type": "run-deployment", "source": "selected", "deployment_id": w.deployment("nightly")}},
	})
	out, err := w.try("", "webhook", "create", "pushes", "-t", `{"event": "push", "resource": {"orch.resource.id": "repo"}}`)
	require.NoError(t, err, out)
	_, err = w.try("", "webhook", "trace", "pushes")
	require.ErrorContains(t, err, "the webhook has no delivery")
	out, err = w.try("", "webhook", "test", "pushes", "--data", "{}", "--send")
	require.NoError(t, err, out)
	w.eventually("flow run", "webhook", "trace", "pushes")
	out, err = w.try("", "webhook", "trace", "pushes", "-o", "json")
	require.NoError(t, err, out)
	var traced struct {
		Delivery struct{ ID string }
		FlowRuns []flowRunRecord `json:"flow_runs"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &traced))
	require.Len(t, traced.FlowRuns, 1)
	_, err = w.server.Call(t.Context(), http.MethodPost, "/logs/", []any{map[string]any{
		"flow_run_id": traced.FlowRuns[0].ID, "level": 20, "message": "Load orders", "name": "orch.flow_runs", "timestamp": time.Now(),
	}})
	require.NoError(t, err)
	w.eventually("Load orders", "webhook", "trace", "pushes", traced.Delivery.ID)
	w.eventually("run-deployment", "webhook", "trace", "pushes", traced.Delivery.ID)
	out, err = w.try("", "webhook", "trace", "pushes", traced.Delivery.ID)
	require.NoError(t, err, out)
	for _, text := range []string{"delivery", "POST, 204", "push", "on push", "executed", traced.FlowRuns[0].Name} {
		require.Contains(t, out, text)
	}
}

// deployment returns the id of a deployment.
func (w *workplace) deployment(name string) string {
	w.t.Helper()
	found, err := remote.Read[[]struct{ ID string }](w.t.Context(), w.server, http.MethodPost, "/deployments/filter",
		map[string]any{"deployments": map[string]any{"name": map[string]any{"any_": []string{name}}}})
	require.NoError(w.t, err)
	require.Len(w.t, found, 1)
	return found[0].ID
}

func TestInspectNamesTheActorOfTheLastChange(t *testing.T) {
	s, _ := newShell(t)
	for _, args := range [][]string{{"create", "region", "--value", "eu"}, {"update", "region", "--value", "us"}} {
		out, err := s.try("", append([]string{"variable"}, args...)...)
		require.NoError(t, err, out)
	}
	s.eventually("Updated at ", "variable", "inspect", "region")
	out, err := s.try("", "variable", "inspect", "region")
	require.NoError(t, err)
	require.Regexp(t, `\nUpdated at \S+ by owner@localhost\.\n$`, out)

	id, err := s.try("", "variable", "inspect", "region", "-q")
	require.NoError(t, err)
	out, err = s.try("", "event", "create", "region.", "--resource", "orch.variable."+strings.TrimSpace(id))
	require.NoError(t, err, out)
	s.eventually("region.", "event", "ls")
	out, err = s.try("", "variable", "inspect", "region")
	require.NoError(t, err)
	require.Regexp(t, `\nUpdated at \S+ by owner@localhost\.\n$`, out, "an event of a client about the variable is no change of it")
	out, err = s.try("", "variable", "inspect", "region", "-o", "json")
	require.NoError(t, err)
	require.NotContains(t, out, "owner@localhost")
}
