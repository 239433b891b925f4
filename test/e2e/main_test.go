//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"testing"
)

// programs are built once for all tests.
var programs Programs

// faultTable has the rows of all tests of faults; it is printed at the end.
var faultTable FaultTable

func TestMain(m *testing.M) {
	os.Exit(func() int {
		if os.Getenv(attackersEnv) != "" {
			return m.Run() // They attack the programs of another process.
		}
		dir, err := os.MkdirTemp("", "orch-e2e-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		if programs, err = Build(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		code := m.Run()
		if err := faultTable.Write(os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return code
	}())
}

// forms are the two forms of the product; both must behave the same.
var forms = []form{
	{"one process", func(t testing.TB, dataDir string, env ...string) *Orch {
		return StartSingleAt(t, programs, dataDir, FreeAddress(t), env...)
	}},
	{"three processes", func(t testing.TB, dataDir string, env ...string) *Orch {
		return StartThree(t, programs, dataDir, env...)
	}},
}

// form is one way to run the product. It is started on a data directory, which may hold what another server of either form
// wrote.
type form struct {
	name    string
	startAt func(t testing.TB, dataDir string, env ...string) *Orch
}

// start starts a server on an empty data directory. env is for its processes.
func (f form) start(t testing.TB, env ...string) *Orch {
	t.Helper()
	return f.startAt(t, t.TempDir(), env...)
}
