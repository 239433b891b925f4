package embeddedmongo_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

const (
	// failingEnv names the calls that fail in a child process; see failingCalls.
	failingEnv = "EMBEDDEDMONGO_TEST_FAILING"
	// failedStatus is the exit code of a child process that learned of the failure and closed its store.
	failedStatus = 3
)

// failingCalls are calls of the disk that a store cannot do without.
var failingCalls = map[string]func(errorfs.Op) bool{
	"writes to the log": func(op errorfs.Op) bool { return strings.HasSuffix(op.Path, ".log") && op.Kind == errorfs.OpFileWrite },
	"one write to the log": func() func(errorfs.Op) bool {
		var failed atomic.Bool
		return func(op errorfs.Op) bool {
			return strings.HasSuffix(op.Path, ".log") && op.Kind == errorfs.OpFileWrite && failed.CompareAndSwap(false, true)
		}
	}(),
	"syncs of the log": func(op errorfs.Op) bool {
		return strings.HasSuffix(op.Path, ".log") && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData)
	},
	"new logs": func(op errorfs.Op) bool {
		return strings.HasSuffix(op.Path, ".log") && (op.Kind == errorfs.OpCreate || op.Kind == errorfs.OpReuseForWrite)
	},
	"writes to the manifest": func(op errorfs.Op) bool {
		return strings.Contains(op.Path, "MANIFEST-") && (op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpFileSync)
	},
}

// brokenFiles is a disk on which some calls fail from some moment on.
type brokenFiles struct {
	fails  func(errorfs.Op) bool
	broken atomic.Bool
}

func (b *brokenFiles) MaybeError(op errorfs.Op) error {
	if b.broken.Load() && b.fails(op) {
		return syscall.ENOSPC
	}
	return nil
}

func (b *brokenFiles) String() string { return "calls fail" }

// TestAFailedDiskEndsTheProcessInOrder: the owner learns of the failure and closes the store, however many commands wait for it. The
// library alone would panic in goroutines of its own, or never return from its Close.
func TestAFailedDiskEndsTheProcessInOrder(t *testing.T) {
	t.Parallel()
	for name := range failingCalls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, acked := t.TempDir(), map[int]int{}
			exe, err := os.Executable()
			require.NoError(t, err)
			cmd := exec.CommandContext(t.Context(), exe)
			var report bytes.Buffer
			cmd.Env, cmd.Stderr = append(os.Environ(), childEnv+"="+dir, failingEnv+"="+name), &report
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			lines := bufio.NewScanner(out)
			require.True(t, lines.Scan(), "the child is ready")
			for lines.Scan() {
				var id, rev int
				if _, err := fmt.Sscan(lines.Text(), &id, &rev); err == nil {
					acked[id] = max(rev, acked[id])
				}
			}
			_ = cmd.Wait()
			require.Equal(t, failedStatus, cmd.ProcessState.ExitCode(), report.String())
			require.NotContains(t, report.String(), "goroutine ", "a trace of the library")
			require.Equal(t, 1, strings.Count(report.String(), `remedy="make room on the disk and start the process again"`), report.String())

			require.NotEmpty(t, acked)
			_, cl := start(t, dir, embeddedmongo.Options{})
			require.Zero(t, missing(t, cl.Database("d").Collection("runs"), acked))
		})
	}
}
