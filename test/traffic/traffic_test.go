//go:build e2e

package traffic_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/test/e2e"
	"github.com/orch-project/orch/test/traffic"
)

// recordings are of a 3.8 client against its server, and of stories about what 3.9 does differently.
var recordings = []string{"../../pkg/restjson/testdata/traffic", "testdata/3.9"}

// condition is what the server and the replay of a story need.
type condition struct {
	// story is the beginning of the recording's name.
	story string
	// ours and theirs are the settings of the server, and of the reference.
	ours, theirs []string
	pace         float64
	calendar     bool
}

// conditions: clean-ups and durations were recorded with times that a busy machine exceeds, so their times are longer. The schedules are
// over a change of the clock in a spring.
var conditions = []condition{
	{
		story: "worker_cleanup",
		ours:  []string{"ORCH_CANCELLING_TIMEOUT=8s", "ORCH_CANCELLATION_CLEANUP_EVERY=2s", "ORCH_CLEANUP_LEASE=30s"},
		theirs: []string{
			"PREFECT_SERVER_SERVICES_CANCELLATION_CLEANUP_CANCELLING_TIMEOUT_SECONDS=8", "PREFECT_SERVER_SERVICES_CANCELLATION_CLEANUP_LOOP_SECONDS=2",
			"PREFECT_SERVER_WORKER_CHANNEL_CLEANUP_LEASE_SECONDS=30",
		},
	},
	{story: "patch_schedule", calendar: true},
	{story: "duration_sorts", pace: 6},
}

// conditionOf returns the condition of a recording, which most do not have.
func conditionOf(name string) condition {
	for _, c := range conditions {
		if strings.HasPrefix(name, c.story) {
			return c
		}
	}
	return condition{}
}

// TestTrafficIsAnsweredAlike replays every recording against a new server.
func TestTrafficIsAnsweredAlike(t *testing.T) {
	programs := build(t)
	replayAll(t, func(t *testing.T, c condition) string {
		t.Helper()
		return e2e.StartSingle(t, programs, t.TempDir(), append(c.ours, "ORCH_VOCABULARY=prefect")...).API()
	}, "testdata/intended-differences.txt", "testdata/unfinished.txt")
}

// TestReferenceIsAnsweredAlike replays every recording against a new server of the reference, whose environment ORCH_TEST_REFERENCE
// names. It shows what another version answers otherwise than the recorded one.
func TestReferenceIsAnsweredAlike(t *testing.T) {
	environment := os.Getenv("ORCH_TEST_REFERENCE")
	if environment == "" {
		t.Skip("ORCH_TEST_REFERENCE names no environment of the reference")
	}
	replayAll(t, func(t *testing.T, c condition) string {
		t.Helper()
		return startReference(t, environment, c.theirs)
	}, "testdata/reference-differences.txt", "testdata/reference-moments.txt")
}

// replayAll replays every recording against a new server. Two lists explain what it answers otherwise; differences of the second need
// not appear.
func replayAll(t *testing.T, start func(*testing.T, condition) string, always, sometimes string) {
	t.Helper()
	intended := testkit.ReadIntended(t, always)
	unfinished := testkit.ReadIntended(t, sometimes)
	var loaded []traffic.Recording
	for _, dir := range recordings {
		found, err := traffic.Load(dir)
		require.NoError(t, err)
		require.NotEmpty(t, found)
		loaded = append(loaded, found...)
	}

	var mu sync.Mutex // Guards the lists and the outcomes.
	var all []traffic.Outcome
	t.Run("recordings", func(t *testing.T) {
		for _, recording := range loaded {
			t.Run(recording.Name, func(t *testing.T) {
				t.Parallel()
				condition := conditionOf(recording.Name)
				api := start(t, condition)
				transport := &http.Transport{}
				defer transport.CloseIdleConnections()
				player := traffic.Player{
					API: api, Client: &http.Client{Transport: transport, CheckRedirect: noRedirect}, Pace: condition.pace, Calendar: condition.calendar,
				}
				player.Intended = func(difference string) bool {
					mu.Lock()
					defer mu.Unlock()
					return intended.Reason(difference) != "" || unfinished.Reason(difference) != ""
				}
				outcomes, err := player.Replay(t.Context(), recording)
				require.NoError(t, err)
				mu.Lock()
				defer mu.Unlock()
				all = append(all, outcomes...)
				for _, outcome := range outcomes {
					judge(t, outcome, unfinished)
				}
			})
		}
	})
	if !t.Failed() {
		intended.CheckUsed(t)
		for _, pattern := range unfinished.Unused() {
			t.Logf("no longer unfinished: %s", pattern)
		}
	}
	t.Log(summary(all))
}

// startReference starts a server of the reference with an empty database.
func startReference(t *testing.T, environment string, settings []string) string {
	t.Helper()
	address := e2e.FreeAddress(t)
	host, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	p := e2e.Start(t, "Python server", append(settings,
		"PREFECT_HOME="+t.TempDir(), "PREFECT_SERVER_UI_ENABLED=false", "PREFECT_SERVER_ANALYTICS_ENABLED=false", "DO_NOT_TRACK=1",
	), filepath.Join(environment, "bin", "prefect"), "server", "start", "--host", host, "--port", port)
	t.Cleanup(func() { // A signal also ends its children, which a kill would not; the exit code is then not 0.
		if err := p.Stop(time.Minute); err != nil {
			_, ended := errors.AsType[*exec.ExitError](err)
			require.True(t, ended, "%v", err)
		}
	})
	api := "http://" + address + "/api"
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // It first creates its tables.
	defer cancel()
	require.NoError(t, e2e.WaitFor(ctx, api+"/health", http.StatusOK))
	return api
}

// noRedirect returns redirections as the responses that they are.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func judge(t *testing.T, outcome traffic.Outcome, unfinished *testkit.Intended) {
	t.Helper()
	if outcome.Absent && unfinished.Reason(outcome.Call) == "" {
		t.Errorf("%s: there is no such route", outcome.Call)
	}
	if outcome.Raced || len(outcome.Differences) == 0 {
		return
	}
	for _, difference := range outcome.Differences {
		t.Errorf("%s %s", outcome.Call, difference)
	}
	t.Logf("sent %s\nanswered %s", outcome.Sent, outcome.Answered)
}

func summary(all []traffic.Outcome) string {
	var alike, excused, different, absent, follows, raced, busy int
	for _, outcome := range all {
		switch {
		case outcome.Absent:
			absent++
		case outcome.Follows:
			follows++
		case outcome.Repeated:
			busy++
		case outcome.Raced:
			raced++
		case len(outcome.Differences) > 0:
			different++
		case outcome.Excused > 0:
			excused++
		default:
			alike++
		}
	}
	return fmt.Sprintf("%d calls: %d answered alike, %d but for listed differences, %d not; left out: "+
		"%d of absent routes, %d of what those would have made, %d that raced with a change, %d that the reference was too busy for",
		len(all), alike, excused, different, absent, follows, raced, busy)
}

func build(t *testing.T) e2e.Programs {
	t.Helper()
	programs, err := e2e.Build(t.TempDir(), "orch")
	require.NoError(t, err)
	return programs
}
