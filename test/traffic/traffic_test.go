//go:build e2e

package traffic_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/test/e2e"
	"github.com/orch-project/orch/test/traffic"
)

// recordings are of a 3.8 client against its server, and of stories about what 3.9 does differently.
var recordings = []string{"../../pkg/restjson/testdata/traffic", "testdata/3.9"}

// TestTrafficIsAnsweredAlike replays every recording against a new server.
func TestTrafficIsAnsweredAlike(t *testing.T) {
	programs := build(t)
	intended := testkit.ReadIntended(t, "testdata/intended-differences.txt")
	unfinished := testkit.ReadIntended(t, "testdata/unfinished.txt")
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
				server := e2e.StartSingle(t, programs, t.TempDir(), "ORCH_VOCABULARY=prefect")
				transport := &http.Transport{}
				defer transport.CloseIdleConnections()
				player := traffic.Player{API: server.API(), Client: &http.Client{Transport: transport, CheckRedirect: noRedirect}}
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
