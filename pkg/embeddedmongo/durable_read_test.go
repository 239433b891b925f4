package embeddedmongo_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/orch-project/orch/pkg/embeddedmongo"
)

// slowLog is a file system whose write-ahead log does not sync while gate is set.
type slowLog struct{ gate atomic.Pointer[chan struct{}] }

func (l *slowLog) MaybeError(op errorfs.Op) error {
	if gate := l.gate.Load(); gate != nil && strings.HasSuffix(op.Path, ".log") && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
		<-*gate
	}
	return nil
}

func (l *slowLog) String() string { return "log is slow" }

// TestAMajorityReadReturnsOnlyWhatIsOnDisk: a client read a state that the store lost in a crash right behind the read, because the
// write was visible before it was synced.
func TestAMajorityReadReturnsOnlyWhatIsOnDisk(t *testing.T) {
	disk := &slowLog{}
	_, cl := start(t, t.TempDir(), embeddedmongo.Options{FS: errorfs.Wrap(vfs.Default, disk)})
	local := cl.Database("d").Collection("c", options.Collection().SetReadConcern(readconcern.Local()).SetWriteConcern(writeconcern.Journaled()))
	for _, level := range []*readconcern.ReadConcern{readconcern.Majority(), readconcern.Linearizable()} {
		for name, insert := range map[string]func(ctx context.Context, id string) error{
			"one": func(ctx context.Context, id string) error { _, err := local.InsertOne(ctx, M{"_id": id}); return err },
			"many": func(ctx context.Context, id string) error {
				_, err := local.InsertMany(ctx, A{M{"_id": id}, M{"_id": id + "'"}})
				return err
			},
		} {
			t.Run(level.Level+", "+name, func(t *testing.T) {
				id := t.Name()
				gate := make(chan struct{})
				disk.gate.Store(&gate)
				written, read := make(chan error, 1), make(chan error, 1)
				go func() { written <- insert(context.WithoutCancel(t.Context()), id) }()
				require.Eventually(t, func() bool { return local.FindOne(t.Context(), M{"_id": id}).Err() == nil }, time.Minute, time.Millisecond)
				go func() {
					majority := cl.Database("d").Collection("c", options.Collection().SetReadConcern(level))
					read <- majority.FindOne(context.WithoutCancel(t.Context()), M{"_id": id}).Err()
				}()
				select {
				case <-read:
					t.Error("the reply has a document that is not on disk")
				case <-time.After(50 * time.Millisecond): // Nothing proves that it still waits but time.
				}
				disk.gate.Store(nil)
				close(gate)
				require.NoError(t, <-written)
				if !t.Failed() {
					require.NoError(t, <-read)
				}
			})
		}
	}
}
