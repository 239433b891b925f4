//go:build e2esdk

package sdk

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// cleanupRuns are cancelled while their runner is dead.
const cleanupRuns = 100

// TestCleanup: workers with the stock channel remove the infrastructure of every cancelled run once, although a worker and each
// process of the server are killed among them.
func TestCleanup(t *testing.T) {
	for _, form := range forms {
		t.Run(form.name, func(t *testing.T) {
			o := form.start(t, "ORCH_CANCELLING_TIMEOUT=2s", "ORCH_CANCELLATION_CLEANUP_EVERY=500ms", "ORCH_CLEANUP_LEASE=5s")
			engine := filepath.Join(t.TempDir(), "engine")
			ended := make(chan result, 1)
			go func() {
				ended <- runWithin(t, workerTimeout, *environment, o.API(), "scenarios", "x_cleanup", "RUNS="+strconv.Itoa(cleanupRuns), "ENGINE="+engine)
			}()
			for n, p := range o.Processes {
				want := cleanupRuns * (n + 2) / (len(o.Processes) + 3)
				require.Eventually(t, func() bool { return lines(engine+".removed") >= want }, workerTimeout, 10*time.Millisecond)
				o.Restart(t, p)
			}
			r := <-ended
			require.NoError(t, r.err, r.output)
			t.Log(r.output)
		})
	}
}

// lines returns the number of lines of a file; 0 if there is none.
func lines(file string) (n int) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for _, c := range text {
		if c == '\n' {
			n++
		}
	}
	return n
}
