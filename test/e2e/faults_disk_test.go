//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// diskSize is the size of the file system that is filled: a smaller one has no room for the streams that a new server
// reserves.
const diskSize = 1 << 30

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

// fill leaves no room on the disk for the length of an outage.
func (d *faultyDisk) fill(t *testing.T) {
	t.Helper()
	filler, err := os.Create(filepath.Join(d.dir, "filler"))
	require.NoError(t, err)
	chunk := make([]byte, 64<<10)
	for err == nil {
		_, err = filler.Write(chunk)
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	wait(t.Context(), outage)
	require.NoError(t, errors.Join(filler.Close(), os.Remove(filler.Name())))
}

// diskFaults fill the disk.
func (w *work) diskFaults(disk *faultyDisk) []fault {
	if !disk.small {
		return nil
	}
	return []fault{{"full disk", disk.fill}}
}
