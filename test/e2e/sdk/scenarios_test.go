//go:build e2esdk

package sdk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/test/e2e"
)

// scenarios must pass against every server.
var scenarios = []string{
	"a_flow_tasks", "b_fail_crash", "c_serve", "d_worker", "e_pause_suspend", "f_concurrency", "h_blocks", "k_extras",
	"l_background_tasks", "m_async_mapped", "n_artifacts_variables", "o_filters_logs", "p_events", "q_hardships", "r_deployed", "s_workers", "t_any_version",
}

// referenceName is the name of the reference in results.
const referenceName = "Python server"

// server is a server under test, with the times of the successful runs.
type server struct {
	name, api string
	took      map[string][]time.Duration
}

// best is the shortest time of a scenario: the others include noise of the machine.
func (s server) best(script string) (time.Duration, bool) {
	if len(s.took[script]) == 0 {
		return 0, false
	}
	return slices.Min(s.took[script]), true
}

// moreRounds is the factor of rounds up to which a slower scenario is measured again.
const moreRounds = 5

// referenceAttempts bounds the attempts of a scenario against the Python server, which fails some of them at random.
const referenceAttempts = 4

// run runs a scenario against a server. A failure of Orch is a result; the reference gets more attempts.
func (s server) run(t *testing.T, script string) result {
	t.Helper()
	r := runScript(t, s.api, script)
	for attempt := 1; r.err != nil && s.name == referenceName && attempt < referenceAttempts; attempt++ {
		t.Logf("attempt %d against %s: %v: %s", attempt, s.name, r.err, r.output)
		r = runScript(t, s.api, script)
	}
	return r
}

// TestScenarios runs every scenario in turn against both forms of the product and the Python server, and compares the
// best times. Turns spread the noise of other processes over all servers. If Orch is slower after the first rounds, all
// servers get more rounds, up to five times as many: noise disappears, a real difference stays.
func TestScenarios(t *testing.T) {
	var servers []server
	for _, form := range forms {
		servers = append(servers, server{form.name, form.start(t).API(), map[string][]time.Duration{}})
	}
	if *reference {
		servers = append(servers, server{referenceName, startReference(t), map[string][]time.Duration{}})
	}
	for _, script := range scenarios {
		t.Run(script, func(t *testing.T) {
			for round := range moreRounds * *rounds {
				if round >= *rounds && len(slower(servers, script)) == 0 {
					break
				}
				for turn := range servers {
					s := servers[(turn+round)%len(servers)]
					r := s.run(t, script)
					require.NoError(t, r.err, "against %s: %s", s.name, r.output)
					t.Logf("against %s: %.1f s", s.name, r.took.Seconds())
					s.took[script] = append(s.took[script], r.took)
				}
			}
			for _, s := range slower(servers, script) {
				t.Errorf("it takes longer against %s", s.name)
			}
		})
	}
	t.Logf("best times, in seconds\n%s", table(servers))
}

// slower returns the servers whose best time of a scenario exceeds that of the Python server, which is the last one.
func slower(servers []server, script string) []server {
	if !*reference {
		return nil
	}
	theirs, ran := servers[len(servers)-1].best(script)
	return slices.DeleteFunc(slices.Clone(servers), func(s server) bool {
		took, passed := s.best(script)
		return !ran || !passed || took <= theirs
	})
}

func table(servers []server) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "scenario\t")
	for _, s := range servers {
		fmt.Fprintf(w, "%s\t", s.name)
	}
	for _, script := range scenarios {
		fmt.Fprintf(w, "\n%s\t", script)
		for _, s := range servers {
			if took, ok := s.best(script); ok {
				fmt.Fprintf(w, "%.2f\t", took.Seconds())
			} else {
				fmt.Fprint(w, "-\t") // It failed, or did not run.
			}
		}
	}
	w.Flush()
	return text.String()
}

// startReference starts the Python server on a new database and returns the address of its API.
func startReference(t *testing.T) string {
	t.Helper()
	address := e2e.FreeAddress(t)
	host, port, _ := strings.Cut(address, ":")
	p := e2e.Start(t, "Python server", []string{
		"PREFECT_HOME=" + t.TempDir(), "PREFECT_SERVER_UI_ENABLED=false", "PREFECT_SERVER_ANALYTICS_ENABLED=false", "DO_NOT_TRACK=1",
	}, filepath.Join(*environment, "bin", "prefect"), "server", "start", "--host", host, "--port", port)
	t.Cleanup(func() { // A signal also ends its children, which a kill would not; the exit code is then not 0.
		if err := p.Stop(time.Minute); err != nil {
			_, ended := errors.AsType[*exec.ExitError](err)
			require.True(t, ended, "%v", err)
		}
	})
	api := "http://" + address + "/api"
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // It first creates its tables.
	defer cancel()
	require.NoError(t, e2e.WaitFor(ctx, api+"/health", http.StatusOK))
	return api
}
