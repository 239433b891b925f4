package standalone_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/runlist"
)

// forTest returns the server for a subtest: its failures end that subtest alone.
func (s *server) forTest(t *testing.T) *server {
	sub := *s
	sub.t = t
	return &sub
}

// create posts a body and returns the id of the new object.
func (s *server) create(path, body string) string {
	s.t.Helper()
	var created struct{ ID string }
	require.Contains(s.t, []int{200, 201}, s.ask(http.MethodPost, path, body, &created), path)
	return created.ID
}

// force sets the state of a run, whatever the rules say.
func (s *server) force(run, state string) {
	s.t.Helper()
	require.Contains(s.t, []int{200, 201}, s.ask(http.MethodPost, "/flow_runs/"+run+"/set_state", `{"force": true, "state": `+state+`}`, nil))
}

// listed returns the names of the runs of a list, in its order.
func (s *server) listed(l runlist.List, related map[string]any) []string {
	s.t.Helper()
	body, err := json.Marshal(l.Query(related))
	require.NoError(s.t, err)
	var runs []struct{ Name string }
	require.Equal(s.t, 200, s.ask(http.MethodPost, "/flow_runs/filter", string(body), &runs))
	names := make([]string, len(runs))
	for i, run := range runs {
		names[i] = run.Name
	}
	return names
}

// runsOfEveryKind creates runs of a deployment and returns those that are past, the latest first, and those that are upcoming,
// the soonest first.
func (s *server) runsOfEveryKind(deployment string) (past, upcoming []string) {
	run := func(name string, start time.Duration, states ...string) {
		id := s.create("/deployments/"+deployment+"/create_flow_run", fmt.Sprintf(`{"name": %q, "state": {"type": "SCHEDULED", "state_details": {"scheduled_time": %q}}}`,
			name, time.Now().Add(start).UTC().Format(time.RFC3339)))
		for _, state := range states {
			s.force(id, state)
		}
	}
	const pending, running = `{"type": "PENDING"}`, `{"type": "RUNNING"}`
	run("late", -5*time.Hour, `{"type": "SCHEDULED", "name": "Late"}`)
	run("completed", -4*time.Hour, pending, running, `{"type": "COMPLETED"}`)
	run("failed", -3*time.Hour, pending, running, `{"type": "FAILED"}`)
	run("running", -2*time.Hour, pending, running)
	run("paused", -2*time.Hour, pending, running, `{"type": "PAUSED"}`)
	run("awaits a retry", -2*time.Hour, pending, running, `{"type": "SCHEDULED", "name": "AwaitingRetry"}`)
	run("pending", -time.Hour, pending)
	run("cancelled before its start", 24*time.Hour, `{"type": "CANCELLED"}`)
	run("in three hours", 3*time.Hour)
	run("in one hour", time.Hour)
	run("in four hours", 4*time.Hour)
	run("waits for a slot", 2*time.Hour, `{"type": "SCHEDULED", "name": "AwaitingConcurrencySlot"}`)
	return []string{"cancelled before its start", "awaits a retry", "paused", "running", "failed", "completed", "pending", "late"},
		[]string{"in one hour", "waits for a slot", "in three hours", "in four hours"}
}

func TestEveryRunIsPastOrUpcoming(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	flow := s.create("/flows/", `{"name": "orders"}`)
	s.create("/work_pools/", `{"name": "pool", "type": "process"}`)
	deployment := s.create("/deployments/", fmt.Sprintf(`{"name": "nightly", "flow_id": %q, "work_pool_name": "pool"}`, flow))
	past, upcoming := s.runsOfEveryKind(deployment)
	other := s.create("/flows/", `{"name": "other"}`)
	s.create("/flow_runs/", fmt.Sprintf(`{"flow_id": %q, "name": "of another flow", "state": {"type": "COMPLETED"}}`, other))

	named := func(name string) map[string]any {
		return map[string]any{"name": map[string]any{"any_": []string{name}}}
	}
	for object, related := range map[string]map[string]any{
		"deployment": {"deployments": named("nightly")}, "flow": {"flows": named("orders")}, "pool": {"work_pools": named("pool")},
	} {
		require.Equal(t, past, s.listed(runlist.Past(), related), object)
		require.Equal(t, upcoming, s.listed(runlist.Upcoming(), related), object)
	}
	all := append(s.listed(runlist.Past(), nil), s.listed(runlist.Upcoming(), nil)...)
	slices.Sort(all)
	expected := append(slices.Concat(past, upcoming), "of another flow")
	slices.Sort(expected)
	require.Equal(t, expected, all, "each run of the workspace is in one list")

	for _, path := range []string{"/deployments/deployment/" + deployment, "/flows/flow/" + flow, "/work-pools/work-pool/pool"} {
		text := s.page(path)
		before, last, found := strings.Cut(text, "<h2>Last runs</h2>")
		require.True(t, found, path)
		_, soonest, found := strings.Cut(before, "<h2>Upcoming</h2>")
		require.True(t, found, path)
		require.Equal(t, past, shownRuns(last), path)
		require.Equal(t, upcoming[:3], shownRuns(soonest), path)
		link := regexp.MustCompile(`/runs/upcoming\?[^"]+`).FindString(soonest)
		require.Equal(t, upcoming, shownRuns(s.page(link)), "%s leads to all upcoming runs", path)
		strip := text[strings.Index(text, "<dt>Last runs</dt>"):strings.Index(text, "<h2>")]
		require.Contains(t, strip, "8 runs, 1 failed", path)
		require.NotContains(t, strip, "in one hour", path)
	}
}

// shownRuns returns the names of the runs that the tables of a page show.
func shownRuns(text string) []string {
	var names []string
	for _, match := range regexp.MustCompile(`data-label="Run"><a href="[^"]+">([^<]+)</a>`).FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	return names
}

func TestRunsThatHappenedAreShownBesideAScheduleThatFillsTheFuture(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	s.create("/work_pools/", `{"name": "pool", "type": "process"}`)
	flow := s.create("/flows/", `{"name": "orders"}`)
	deployment := s.create("/deployments/", fmt.Sprintf(`{"name": "nightly", "flow_id": %q, "work_pool_name": "pool", "schedules": [{"schedule": {"interval": 60}}]}`, flow))
	run := s.create("/deployments/"+deployment+"/create_flow_run", `{"name": "happened-already"}`)
	for _, state := range []string{"PENDING", "RUNNING", "COMPLETED"} {
		require.Contains(t, []int{200, 201}, s.ask(http.MethodPost, "/flow_runs/"+run+"/set_state", fmt.Sprintf(`{"state": {"type": %q}}`, state), nil))
	}
	require.Eventually(t, func() bool { // The scheduler has filled the future.
		var n int
		return s.ask(http.MethodPost, "/flow_runs/count", `{"flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}}}`, &n) == 200 && n >= 50
	}, waitTimeout, tick)
	for _, path := range []string{"/deployments/deployment/" + deployment, "/flows/flow/" + flow, "/work-pools/work-pool/pool"} {
		require.Contains(t, s.page(path), "happened-already", path)
	}
}
