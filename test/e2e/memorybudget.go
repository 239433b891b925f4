package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// controlGroup is a control group of Linux.
type controlGroup struct{ dir string }

// newControlGroup creates a group in the first of the trees that takes the files; the end of the test removes it. Version 2 has one
// tree, version 1 a tree for each controller.
func newControlGroup(t testing.TB, name string, trees map[string][][2]string) (controlGroup, error) {
	var failures []error
	for tree, files := range trees {
		g := controlGroup{filepath.Join(tree, fmt.Sprintf("orch-e2e-%d-%s", os.Getpid(), name))}
		err := g.create(files)
		if err == nil {
			t.Cleanup(func() { _ = os.Remove(g.dir) }) // Its processes have ended by then.
			return g, nil
		}
		failures = append(failures, err)
	}
	return controlGroup{}, errors.Join(failures...)
}

func (g controlGroup) create(files [][2]string) error {
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return fmt.Errorf("create control group: %w", err)
	}
	for _, f := range files {
		path := filepath.Join(g.dir, f[0])
		if _, err := os.Stat(path); err != nil { // In a tree that is no control group the file would be created.
			return errors.Join(fmt.Errorf("find controller: %w", err), os.Remove(g.dir))
		}
		if err := os.WriteFile(path, []byte(f[1]), 0o644); err != nil {
			return errors.Join(fmt.Errorf("set budget: %w", err), os.Remove(g.dir))
		}
	}
	return nil
}

// Add moves a running process, with all its threads, into the group.
func (g controlGroup) Add(t testing.TB, p *Process) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, "cgroup.procs"), []byte(strconv.Itoa(p.Pid())), 0o644); err != nil {
		t.Fatal(err)
	}
}

// MemoryBudget is a limit of a process's memory in bytes. The kernel ends a process beyond it, as a container's.
type MemoryBudget struct {
	Bytes int64
	group controlGroup
	// Enforced is false without root or control groups: then only the measured memory counts.
	Enforced bool
}

// NewMemoryBudget creates the budget of one process.
func NewMemoryBudget(t testing.TB, name string, bytes int64) *MemoryBudget {
	t.Helper()
	limit := strconv.FormatInt(bytes, 10)
	group, err := newControlGroup(t, name, map[string][][2]string{
		"/sys/fs/cgroup":        {{"memory.max", limit}, {"memory.swap.max", "0"}},
		"/sys/fs/cgroup/memory": {{"memory.limit_in_bytes", limit}},
	})
	if err != nil {
		t.Logf("no control groups for memory, so the measured memory counts: %v", err)
	}
	return &MemoryBudget{Bytes: bytes, group: group, Enforced: err == nil}
}

// Add puts a running process under the budget.
func (b *MemoryBudget) Add(t testing.TB, p *Process) {
	t.Helper()
	if b.Enforced {
		b.group.Add(t, p)
	}
}

// PeakMemory returns the most memory in bytes that a process had resident.
func (p *Process) PeakMemory() (int64, error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", p.Pid()))
	if err != nil {
		return 0, fmt.Errorf("read memory: %w", err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(text)[0], 10, 64)
			if err != nil {
				return 0, fmt.Errorf("parse memory: %w", err)
			}
			return kib << 10, nil
		}
	}
	return 0, errors.New("read memory: the status names no peak")
}
