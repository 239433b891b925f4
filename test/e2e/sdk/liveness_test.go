//go:build e2esdk

package sdk

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var oldEnvironment = flag.String("old", "../../../.venv/prefect-3.3", "the Python environment with an SDK whose runs send no heartbeats")

// TestLiveness kills hosts, workers and runners of the stock SDK while their runs are in each state.
func TestLiveness(t *testing.T) {
	if _, err := exec.LookPath("unshare"); err != nil || os.Geteuid() != 0 {
		t.Skip("hosts are process namespaces, which need root and unshare")
	}
	old, err := filepath.Abs(filepath.Join(*oldEnvironment, "bin", "python"))
	require.NoError(t, err)
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			o := form.start(t, "ORCH_RUN_MONITOR_EVERY=2s", "ORCH_CANCELLING_TIMEOUT=30s", "ORCH_CANCELLATION_CLEANUP_EVERY=2s")
			r := runWithin(t, 10*time.Minute, *environment, o.API(), "scenarios", "x_liveness", "OLD_PYTHON="+old)
			t.Log(r.output)
			require.NoError(t, r.err)
		})
	}
}
