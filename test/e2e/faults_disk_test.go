//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// diskSize is the size of the file system that is filled: a smaller one has no room for the streams that a new server
// reserves.
const diskSize = 1 << 30

// followingFiles bounds how many files of a kind and directory a server creates during one fault.
const followingFiles = 40

// backupFailsWithin bounds the wait of a backup for events that a full disk cannot store. A backup that waits gives up after a minute.
const backupFailsWithin = 30 * time.Second

// faultyDisk is a small file system for a data directory. Without root, dir is on the common one and small is false.
type faultyDisk struct {
	dir   string
	small bool
}

// newFaultyDisk mounts a small file system until the end of the test.
func newFaultyDisk(t *testing.T) *faultyDisk {
	t.Helper()
	d := &faultyDisk{dir: t.TempDir()}
	if os.Geteuid() != 0 {
		t.Log("no full disk: a file system of its own needs root")
		return d
	}
	if err := syscall.Mount("orch-e2e", d.dir, "tmpfs", 0, fmt.Sprintf("size=%d", diskSize)); err != nil {
		t.Logf("no full disk: mount a tmpfs: %v", err)
		return d
	}
	d.small = true
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(d.dir, syscall.MNT_DETACH)) })
	return d
}

// dataDir is the path of a data directory on the file system.
func (d *faultyDisk) dataDir() string { return filepath.Join(d.dir, "data") }

// fill leaves no room on the disk for a while.
func (d *faultyDisk) fill(t *testing.T, length time.Duration) {
	t.Helper()
	filler, err := os.Create(filepath.Join(d.dir, "filler"))
	require.NoError(t, err)
	defer func() { require.NoError(t, errors.Join(filler.Close(), os.Remove(filler.Name()))) }()
	chunk := make([]byte, 64<<10)
	for err == nil {
		_, err = filler.Write(chunk)
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	backup := filepath.Join(d.dir, "backup")
	ctx, cancel := context.WithTimeout(t.Context(), backupFailsWithin)
	defer cancel()
	require.Regexp(t, "free on disk|no space left", runOrch(ctx, t, 1, "backup", backup, "--data-dir", d.dataDir()))
	require.NoDirExists(t, backup, "half a backup is left")
	wait(t.Context(), length)
}

// failedWrites are the system calls that fail, on the files with a pattern below the data directory, empty for all files. Each stands
// for a write path: the store's log, JetStream's messages, and the syncs of both. The process ends if the store's log has failed.
var failedWrites = []struct {
	name, calls, pattern string
	ends                 bool
}{
	{"writes to the store's log", "write,pwrite64", "store/*.log", true},
	{"writes to JetStream's messages", "write,pwrite64", "nats/jetstream/*/streams/*/msgs/*.blk", false},
	{"syncs", "fsync,fdatasync,sync_file_range", "", true},
}

// diskFaults fill the disk of the process that stores, and make its writes fail. A supervisor restarts a process that ended.
func (w *work) diskFaults(scale faultScale, disk *faultyDisk) (faults []fault) {
	if disk.small {
		faults = append(faults, fault{"full disk", func(t *testing.T) {
			disk.fill(t, scale.outage)
			w.supervise(t, false)
		}})
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		w.Log("no I/O errors: strace is missing")
		return faults
	}
	for _, failed := range failedWrites {
		faults = append(faults, fault{"EIO: " + failed.name, func(t *testing.T) {
			end := w.failWrites(t, strace, failed.calls, filepath.Join(disk.dataDir(), failed.pattern), failed.pattern == "")
			wait(t.Context(), scale.outage)
			end()
			w.supervise(t, failed.ends)
		}})
	}
	return faults
}

// failWrites makes system calls of the storing process fail with EIO until end is called. It returns after the first failed call.
func (w *work) failWrites(t *testing.T, strace, calls, pattern string, all bool) (end func()) {
	t.Helper()
	trace := filepath.Join(t.TempDir(), "trace")
	args := []string{"-f", "-q", "-o", trace, "-p", fmt.Sprint(w.orch.Processes[0].Pid()), "-e", "trace=" + calls, "-e", "inject=" + calls + ":error=EIO"}
	if !all {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, path := range withFollowing(paths) {
			args = append(args, "-P", path)
		}
	}
	tracer := exec.CommandContext(t.Context(), strace, args...)
	require.NoError(t, tracer.Start())
	require.Eventually(t, func() bool {
		calls, err := os.ReadFile(trace)
		return err == nil && bytes.Contains(calls, []byte("(INJECTED)"))
	}, startTimeout, 5*time.Millisecond, "no system call has failed")
	return func() {
		// It ends by itself with the process that it traces, or waits for ever for one of its threads. A killed tracer lets go as well.
		_ = tracer.Process.Signal(os.Interrupt)
		kill := time.AfterFunc(time.Second, func() { _ = tracer.Process.Kill() })
		defer kill.Stop()
		_ = tracer.Wait()
	}
}

// withFollowing adds the files that a server creates while the fault lasts: numbered logs and blocks are replaced by the next number.
func withFollowing(paths []string) (all []string) {
	last := map[string]int{} // By directory, width and extension.
	for _, path := range paths {
		dir, name := filepath.Split(path)
		digits, extension, _ := strings.Cut(name, ".")
		if number, err := strconv.Atoi(digits); err == nil {
			format := fmt.Sprintf("%s%%0%dd.%s", dir, zeroPadded(digits), extension)
			last[format] = max(last[format], number)
		}
		all = append(all, path)
	}
	for format, number := range last {
		for i := range followingFiles {
			all = append(all, fmt.Sprintf(format, number+1+i))
		}
	}
	return all
}

// zeroPadded is the width of a number with leading zeros, and 0 of one without.
func zeroPadded(digits string) int {
	if strings.HasPrefix(digits, "0") {
		return len(digits)
	}
	return 0
}

// supervise restarts the storing process, as a supervisor does, if it ends soon. One whose store has failed ends after its drain.
func (w *work) supervise(t *testing.T, ends bool) {
	t.Helper()
	within := time.Second
	if ends {
		within = doneWithin
	}
	p := w.orch.Processes[0]
	select {
	case <-p.ended:
		require.NoError(t, p.Restart())
	case <-time.After(within):
		require.False(t, ends, "the process of a failed store does not end")
	}
}
