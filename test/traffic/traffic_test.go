//go:build e2e

package traffic_test

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/test/e2e"
	"github.com/orch-project/orch/test/traffic"
)

const recordings = "../../pkg/restjson/testdata/traffic"

// TestTrafficIsAnsweredAlike replays every recording against a server of its own.
func TestTrafficIsAnsweredAlike(t *testing.T) {
	programs := build(t)
	intended := testkit.ReadIntended(t, "testdata/intended-differences.txt")
	absent := testkit.ReadIntended(t, "testdata/absent-routes.txt")
	loaded, err := traffic.Load(recordings)
	require.NoError(t, err)
	require.NotEmpty(t, loaded)

	var mu sync.Mutex
	var all []traffic.Outcome
	t.Run("recordings", func(t *testing.T) {
		for _, recording := range loaded {
			t.Run(recording.Name, func(t *testing.T) {
				t.Parallel()
				server := e2e.StartSingle(t, programs, t.TempDir(), "ORCH_VOCABULARY=prefect")
				transport := &http.Transport{}
				defer transport.CloseIdleConnections()
				player := traffic.Player{API: server.API(), Client: &http.Client{Transport: transport}}
				outcomes, err := player.Replay(t.Context(), recording)
				require.NoError(t, err)
				mu.Lock()
				defer mu.Unlock()
				all = append(all, outcomes...)
				for _, outcome := range outcomes {
					judge(t, outcome, intended, absent)
				}
			})
		}
	})
	if !t.Failed() {
		intended.CheckUsed(t)
	}
	t.Log(summary(all))
}

func judge(t *testing.T, outcome traffic.Outcome, intended, absent *testkit.Intended) {
	t.Helper()
	if outcome.Absent && absent.Reason(outcome.Call) == "" {
		t.Errorf("%s: there is no such route", outcome.Call)
	}
	told := false
	for _, difference := range outcome.Differences {
		if intended.Reason(outcome.Call+" "+difference) == "" {
			t.Errorf("%s %s", outcome.Call, difference)
			told = true
		}
	}
	if told {
		t.Logf("sent %s\nanswered %s", outcome.Sent, outcome.Answered)
	}
}

func summary(all []traffic.Outcome) string {
	var alike, intended, absent, repeated int
	for _, outcome := range all {
		switch {
		case outcome.Absent:
			absent++
		case outcome.Repeated:
			repeated++
		case len(outcome.Differences) > 0:
			intended++
		default:
			alike++
		}
	}
	return fmt.Sprintf("%d calls: %d answered alike, %d with differences, %d of absent routes, %d that the reference was too busy for",
		len(all), alike, intended, absent, repeated)
}

func build(t *testing.T) e2e.Programs {
	t.Helper()
	dir, err := os.MkdirTemp("", "orch-traffic-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	programs, err := e2e.Build(dir)
	require.NoError(t, err)
	return programs
}
