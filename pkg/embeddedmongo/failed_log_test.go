package embeddedmongo_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
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

// stopOnExpiry opens a store with an expired document and lets its log fail. The sweeper's deletion is then the first write that
// meets the broken log.
func stopOnExpiry(t *testing.T, sweep time.Duration) (*embeddedmongo.Server, *mongo.Client) {
	t.Helper()
	disk, now := &brokenLog{}, time.Now()
	var later atomic.Int64
	s, err := embeddedmongo.Open(t.TempDir(), embeddedmongo.Options{
		FS: errorfs.Wrap(vfs.Default, disk), SweepInterval: sweep,
		Clock: func() time.Time { return now.Add(time.Duration(later.Load())) },
	})
	require.NoError(t, err)
	cl := connect(t, s)
	t.Cleanup(func() {
		require.NoError(t, cl.Disconnect(context.WithoutCancel(t.Context())))
		_ = s.Close() // The library reports the log's error again.
	})
	c := cl.Database("d").Collection("c", options.Collection().SetWriteConcern(writeconcern.Journaled()))
	_, err = c.Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: M{"at": 1}, Options: options.Index().SetExpireAfterSeconds(0)})
	require.NoError(t, err)
	_, err = c.InsertOne(t.Context(), M{"_id": 1, "at": bson.NewDateTimeFromTime(now.Add(time.Minute))})
	require.NoError(t, err)
	disk.broken.Store(true)
	later.Store(int64(time.Hour))
	return s, cl
}

// TestTheSweeperSurvivesAFailedLog: the library panics under a write to a broken log. In the sweeper's goroutine that ended the
// process before its owner could learn why.
func TestTheSweeperSurvivesAFailedLog(t *testing.T) {
	s, cl := stopOnExpiry(t, time.Millisecond)
	require.ErrorContains(t, s.Watch(t.Context()), syscall.ENOSPC.Error())
	err := cl.Database("d").Collection("c").FindOne(t.Context(), M{"_id": 1}).Err()
	var se mongo.ServerError
	require.ErrorAs(t, err, &se)
	require.True(t, se.HasErrorCode(91), "%v", err)
}

// TestAFailedLogStopsMaintenance: neither a sweep nor a backup writes to a store whose log failed.
func TestAFailedLogStopsMaintenance(t *testing.T) {
	s, _ := stopOnExpiry(t, -1)
	for range 2 { // The first sweep meets the broken log, the second its failure.
		require.ErrorContains(t, embeddedmongo.Sweep(s), "store stopped because its log failed")
	}
	require.ErrorContains(t, s.Backup(t.Context(), filepath.Join(t.TempDir(), "backup")), "store stopped because its log failed")
}

// TestACommandThatMeetsAFailedLogReportsIt: the first command whose write panics gets the failure, not an internal error.
func TestACommandThatMeetsAFailedLogReportsIt(t *testing.T) {
	_, cl := stopOnExpiry(t, -1)
	c := cl.Database("d").Collection("c", options.Collection().SetWriteConcern(writeconcern.Journaled()))
	_, err := c.InsertMany(t.Context(), A{M{"_id": 2}, M{"_id": 3}}) // Many documents share one synced write, which panics.
	var se mongo.ServerError
	require.ErrorAs(t, err, &se)
	require.True(t, se.HasErrorCode(91), "%v", err)
}
