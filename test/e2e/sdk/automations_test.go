//go:build e2esdk

package sdk

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/test/e2e"
)

// TestLoop runs the whole loop against both forms: a signed push, an event, an automation, a run of the stock worker, and a
// notification about one that fails.
func TestLoop(t *testing.T) {
	const local = "ORCH_AUTOMATIONS_ALLOWED_NETWORKS=127.0.0.1"
	for name, start := range map[string]func() *e2e.Orch{
		"one process": func() *e2e.Orch {
			return e2e.StartSingleAt(t, programs, t.TempDir(), e2e.FreeAddress(t), asPrefect, local)
		},
		"three processes": func() *e2e.Orch { return e2e.StartThree(t, programs, t.TempDir(), asPrefect, local) },
	} {
		t.Run(name, func(t *testing.T) {
			r := runScript(t, start().API(), "u_loop")
			require.NoError(t, r.err, "%s", r.output)
			t.Logf("%.1f s\n%s", r.took.Seconds(), r.output)
		})
	}
}

// TestAutomations runs automations of every kind against both forms and the Python server.
func TestAutomations(t *testing.T) {
	servers := map[string]string{}
	for _, form := range forms {
		servers[form.name] = form.start(t).API()
	}
	if *reference {
		servers["Python server"] = startReference(t)
	}
	for name, api := range servers {
		t.Run(name, func(t *testing.T) {
			r := runScript(t, api, "v_automations")
			require.NoError(t, r.err, "%s", r.output)
			t.Logf("%.1f s\n%s", r.took.Seconds(), r.output)
		})
	}
}
