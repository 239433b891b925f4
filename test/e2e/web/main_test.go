//go:build e2eweb

package web

import (
	"fmt"
	"os"
	"testing"

	"github.com/orch-project/orch/test/e2e"
)

// programs are the server's programs.
var programs e2e.Programs

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "orch-e2e-web")
	if err == nil {
		programs, err = e2e.Build(dir, "orch", "gateway", "hooks", "orchestration")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir) // The system removes what stays.
	os.Exit(code)
}
