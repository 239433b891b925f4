package embeddedmongo_test

import (
	"context"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// brokenLog is a file system on which the write-ahead log fails from some moment on.
type brokenLog struct{ broken atomic.Bool }

func (l *brokenLog) MaybeError(op errorfs.Op) error {
	if l.broken.Load() && strings.HasSuffix(op.Path, ".log") && (op.Kind == errorfs.OpFileWrite || op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
		return syscall.ENOSPC
	}
	return nil
}

func (l *brokenLog) String() string { return "log is broken" }

// TestAFailedLogStopsTheStore: a write that the log refused is in memory, so reads would return what a restart undoes.
func TestAFailedLogStopsTheStore(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	dir, disk := t.TempDir(), &brokenLog{}
	s, err := embeddedmongo.Open(dir, embeddedmongo.Options{FS: errorfs.Wrap(vfs.Default, disk)})
	require.NoError(t, err)
	cl := connect(t, s)
	c := cl.Database("d").Collection("c", options.Collection().SetWriteConcern(writeconcern.Journaled()))
	_, err = c.InsertOne(ctx, M{"_id": 1, "v": "stored"})
	require.NoError(t, err)
	disk.broken.Store(true)
	_, err = c.UpdateOne(ctx, M{"_id": 1}, M{"$set": M{"v": "refused"}})
	requireStopped := func(err error) {
		t.Helper()
		var se mongo.ServerError
		require.ErrorAs(t, err, &se)
		require.True(t, se.HasErrorCode(91), "%v", err)
	}
	requireStopped(err)
	requireStopped(c.FindOne(ctx, M{"_id": 1}).Err())
	disk.broken.Store(false)
	requireStopped(c.FindOne(ctx, M{"_id": 1}).Err())
	require.ErrorContains(t, s.Watch(ctx), syscall.ENOSPC.Error())
	require.NoError(t, cl.Disconnect(ctx))
	_ = s.Close() // The library reports the log's error again.

	_, cl = start(t, dir, embeddedmongo.Options{})
	var got struct{ V string }
	require.NoError(t, cl.Database("d").Collection("c").FindOne(ctx, M{"_id": 1}).Decode(&got))
	require.Equal(t, "stored", got.V)
}
