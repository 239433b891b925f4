//go:build e2esdk

package sdk

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// waitTimeout bounds a script that waits for something in vain. It is far above what a busy machine needs.
const waitTimeout = 20 * time.Minute

// result is the result of a script.
type result struct {
	took   time.Duration
	output string
	err    error
}

// runScript runs one of the scenarios against an API.
func runScript(t testing.TB, api, script string, env ...string) result {
	t.Helper()
	return runPython(t, api, "scenarios", script, env...)
}

// runPython runs a script with the reference SDK.
func runPython(t testing.TB, api, folder, script string, env ...string) result {
	t.Helper()
	return runWith(t, *environment, api, folder, script, env...)
}

// runWith runs a script of an environment against an API. It removes all SDK settings from its environment except the
// given ones, and makes the order of sets deterministic.
func runWith(t testing.TB, environment, api, folder, script string, env ...string) result {
	t.Helper()
	return runWithin(t, waitTimeout, environment, api, folder, script, env...)
}

// runWithin is runWith for a script that may take another time.
func runWithin(t testing.TB, timeout time.Duration, environment, api, folder, script string, env ...string) result {
	t.Helper()
	directory, err := filepath.Abs(folder)
	if err != nil {
		return result{err: fmt.Errorf("find scripts: %w", err)}
	}
	python, err := filepath.Abs(filepath.Join(environment, "bin", "python"))
	if err != nil {
		return result{err: fmt.Errorf("find Python: %w", err)}
	}
	// The script ends itself earlier, unless it blocks outside of Python.
	ctx, cancel := context.WithTimeout(t.Context(), timeout+30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, script+".py")
	cmd.Dir = directory
	cmd.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "PREFECT_") })
	cmd.Env = append(cmd.Env, "PREFECT_API_URL="+api, "PYTHONDONTWRITEBYTECODE=1", "PYTHONHASHSEED=0", "TMPDIR="+t.TempDir(),
		fmt.Sprintf("SCENARIO_TIMEOUT=%.0f", timeout.Seconds()))
	cmd.Env = append(cmd.Env, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	began := time.Now()
	output, err := cmd.CombinedOutput()
	return result{took: time.Since(began), output: string(output), err: err}
}
