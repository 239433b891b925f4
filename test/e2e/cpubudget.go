package e2e

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// budgetPeriod is the time over which a control group grants its share.
const budgetPeriod = 50 * time.Millisecond

// CPUBudget is a control group whose processes get a share of one processor, 0.1 for a tenth.
type CPUBudget struct {
	controlGroup

	Share float64
}

// NewCPUBudget creates a control group; the end of the test removes it. Without root or control groups of processors it
// skips the test.
func NewCPUBudget(t testing.TB, name string, fraction float64) *CPUBudget {
	t.Helper()
	quota := strconv.Itoa(int(float64(budgetPeriod.Microseconds()) * fraction))
	period := strconv.Itoa(int(budgetPeriod.Microseconds()))
	group, err := newControlGroup(t, name, map[string][][2]string{
		"/sys/fs/cgroup":     {{"cpu.max", quota + " " + period}},
		"/sys/fs/cgroup/cpu": {{"cpu.cfs_period_us", period}, {"cpu.cfs_quota_us", quota}},
	})
	if err != nil {
		t.Skipf("no control groups for processors: %v", err)
	}
	return &CPUBudget{Share: fraction, controlGroup: group}
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
