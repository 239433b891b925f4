package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// budgetPeriod is the time over which a control group grants its share.
const budgetPeriod = 50 * time.Millisecond

// CPUBudget is a control group whose processes get a share of one processor, 0.1 for a tenth.
type CPUBudget struct {
	Share float64
	dir   string
}

// NewCPUBudget creates a control group; the end of the test removes it. Without root or control groups of processors it
// skips the test.
func NewCPUBudget(t testing.TB, name string, share float64) *CPUBudget {
	t.Helper()
	name = fmt.Sprintf("orch-e2e-%d-%s", os.Getpid(), name)
	quota := strconv.Itoa(int(float64(budgetPeriod.Microseconds()) * share))
	period := strconv.Itoa(int(budgetPeriod.Microseconds()))
	// Version 2 has one tree, version 1 a tree for each controller.
	var failures []error
	for _, version := range []struct {
		tree  string
		files [][2]string
	}{
		{"/sys/fs/cgroup", [][2]string{{"cpu.max", quota + " " + period}}},
		{"/sys/fs/cgroup/cpu", [][2]string{{"cpu.cfs_period_us", period}, {"cpu.cfs_quota_us", quota}}},
	} {
		b := &CPUBudget{Share: share, dir: filepath.Join(version.tree, name)}
		err := b.create(version.files)
		if err == nil {
			t.Cleanup(func() { _ = os.Remove(b.dir) }) // Its processes have ended by then.
			return b
		}
		failures = append(failures, err)
	}
	t.Skipf("no control groups for processors: %v", errors.Join(failures...))
	return nil
}

func (b *CPUBudget) create(files [][2]string) error {
	if err := os.Mkdir(b.dir, 0o755); err != nil {
		return fmt.Errorf("create control group: %w", err)
	}
	for _, f := range files {
		path := filepath.Join(b.dir, f[0])
		if _, err := os.Stat(path); err != nil { // In a tree that is no control group the file would be created.
			return errors.Join(fmt.Errorf("find controller: %w", err), os.Remove(b.dir))
		}
		if err := os.WriteFile(path, []byte(f[1]), 0o644); err != nil {
			return errors.Join(fmt.Errorf("set budget: %w", err), os.Remove(b.dir))
		}
	}
	return nil
}

// Add moves a running process, with all its threads, into the group.
func (b *CPUBudget) Add(t testing.TB, p *Process) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, "cgroup.procs"), []byte(strconv.Itoa(p.Pid())), 0o644); err != nil {
		t.Fatal(err)
	}
}

// clockTicks is the unit of times in /proc, per second.
const clockTicks = 100

// CPUTime is the processor time that a process has used.
func (p *Process) CPUTime() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid()))
	if err != nil {
		return 0, fmt.Errorf("read processor time: %w", err)
	}
	// The name, in parentheses, may have spaces. User and system time are the fields 14 and 15, counted from 1.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	var ticks int
	for _, field := range fields[11:13] {
		n, err := strconv.Atoi(field)
		if err != nil {
			return 0, fmt.Errorf("parse processor time: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / clockTicks, nil
}
