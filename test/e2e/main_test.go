//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"testing"
)

// programs are built once for all tests.
var programs Programs

func TestMain(m *testing.M) {
	os.Exit(func() int {
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
		return m.Run()
	}())
}

// forms are the two forms of the product; both must behave the same.
var forms = []struct {
	name  string
	start func(t testing.TB) *Orch
}{
	{"one process", func(t testing.TB) *Orch { return StartSingle(t, programs, t.TempDir()) }},
	{"three processes", func(t testing.TB) *Orch { return StartThree(t, programs, t.TempDir()) }},
}
