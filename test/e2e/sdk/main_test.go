//go:build e2esdk

package sdk

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/orch-project/orch/test/e2e"
)

var (
	environment = flag.String("environment", "../../../.venv/prefect", "the Python environment with the SDK and the Python server")
	reference   = flag.Bool("reference", true, "run the scenarios against the Python server too, and compare the times")
	rounds      = flag.Int("rounds", 2, "how often each scenario runs against each server at least; the best time counts")
)

// programs are built once for all tests.
var programs e2e.Programs

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "orch-e2e-sdk-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		if programs, err = e2e.Build(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if code := m.Run(); code != 0 {
			return code
		}
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}())
}

// asPrefect sets the SDK's vocabulary for the programs.
const asPrefect = "ORCH_VOCABULARY=prefect"

// forms are the two forms of the product, on addresses that survive a restart.
var forms = []struct {
	name  string
	start func(t testing.TB, settings ...string) *e2e.Orch
}{
	{"one process", func(t testing.TB, settings ...string) *e2e.Orch {
		return e2e.StartSingleAt(t, programs, t.TempDir(), e2e.FreeAddress(t), append(settings, asPrefect)...)
	}},
	{"three processes", func(t testing.TB, settings ...string) *e2e.Orch {
		return e2e.StartThree(t, programs, t.TempDir(), append(settings, asPrefect)...)
	}},
}
