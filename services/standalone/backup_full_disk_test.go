package standalone_test

import (
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/standalone"
)

// smallDisk is a file system that is nearly full while full is set.
type smallDisk struct {
	vfs.FS
	full atomic.Bool
}

func (d *smallDisk) GetDiskUsage(string) (vfs.DiskUsage, error) {
	if d.full.Load() {
		return vfs.DiskUsage{AvailBytes: 1 << 20, TotalBytes: 1 << 40}, nil
	}
	return vfs.DiskUsage{AvailBytes: 1 << 40, TotalBytes: 1 << 40}, nil
}

// TestABackupDoesNotWaitForEventsThatAFullDiskRefuses: handlers cannot store them, so the wait could only end at its time limit.
func TestABackupDoesNotWaitForEventsThatAFullDiskRefuses(t *testing.T) {
	t.Parallel()
	disk := &smallDisk{FS: vfs.Default}
	store, err := embeddedmongo.Open(t.TempDir(), embeddedmongo.Options{FS: disk})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	nats := testkit.StartNATS(t, embeddednats.Options{Dir: t.TempDir()})
	conn, err := broker.Connect(t.Context(), broker.Config{InProcess: nats})
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })

	disk.full.Store(true)
	require.NoError(t, standalone.WaitHandled(t.Context(), store, conn), "nothing is pending")
	require.NoError(t, conn.Publisher().Publish(t.Context(), broker.Event{ID: uuid.New(), Source: "test", Type: "test"}))
	require.ErrorContains(t, standalone.WaitHandled(t.Context(), store, conn), "free on disk")
}
