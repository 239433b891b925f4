package embeddedmongo_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// stalledLog is a file system on which syncs of the write-ahead log wait while it has a gate.
type stalledLog struct{ gate atomic.Pointer[chan struct{}] }

func (l *stalledLog) MaybeError(op errorfs.Op) error {
	if gate := l.gate.Load(); gate != nil && strings.HasSuffix(op.Path, ".log") && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
		<-*gate
	}
	return nil
}

func (l *stalledLog) String() string { return "log stalls" }

// Commands without a connection return at their deadline although the disk stalls. They complete when it goes on.
func TestCommandsOnAStalledDiskEndWithTheirContext(t *testing.T) {
	disk := &stalledLog{}
	s, err := embeddedmongo.Open(t.TempDir(), embeddedmongo.Options{FS: errorfs.Wrap(vfs.Default, disk)})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	d := s.ContextDialer()
	raw := func(m M) bson.Raw {
		b, err := bson.Marshal(m)
		require.NoError(t, err)
		return b
	}
	_, err = d.Insert(t.Context(), "d", "c", []bson.Raw{raw(M{"_id": 1}), raw(M{"_id": 3})})
	require.NoError(t, err)

	gate := make(chan struct{})
	resume := sync.OnceFunc(func() {
		disk.gate.Store(nil)
		close(gate)
	})
	defer resume() // Before the server is closed, which waits for the disk.
	disk.gate.Store(&gate)
	for _, command := range []struct {
		name    string
		execute func(context.Context) error
	}{
		{"insert", func(ctx context.Context) error {
			_, err := d.Insert(ctx, "d", "c", []bson.Raw{raw(M{"_id": 2})})
			return err
		}},
		{"update", func(ctx context.Context) error {
			_, err := d.Update(ctx, "d", "c", []bson.Raw{raw(M{"q": M{"_id": 1}, "u": M{"$set": M{"v": "changed"}}})}, true)
			return err
		}},
		{"majority read after journaled writes that are not on disk", func(ctx context.Context) error {
			_, err := d.FindOne(ctx, "d", "c", raw(M{"_id": 3}), nil, true)
			return err
		}},
	} {
		t.Run(command.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			require.ErrorIs(t, command.execute(ctx), context.DeadlineExceeded, command.name)
			cancel()
		})
	}
	resume()
	require.Eventually(t, func() bool {
		reply, err := d.Count(t.Context(), "d", "c", raw(M{"$or": A{M{"_id": 2}, M{"_id": 1, "v": "changed"}}}), 0)
		require.NoError(t, err)
		return reply.Lookup("n").AsInt64() == 2
	}, time.Minute, 10*time.Millisecond)
}
