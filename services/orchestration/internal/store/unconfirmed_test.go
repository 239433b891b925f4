package store_test

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/id"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// heldLog is a file system whose write-ahead log does not sync while gate is set.
type heldLog struct{ gate atomic.Pointer[chan struct{}] }

func (l *heldLog) MaybeError(op errorfs.Op) error {
	if gate := l.gate.Load(); gate != nil && strings.HasSuffix(op.Path, ".log") && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
		<-*gate
	}
	return nil
}

func (l *heldLog) String() string { return "log is held" }

// TestOnlyWritesVouchForUnsyncedVersions: a change is decided on a version that is not on disk yet. A result without a write is
// not: after a crash the caller would have seen a version that does not exist.
func TestOnlyWritesVouchForUnsyncedVersions(t *testing.T) {
	t.Parallel()
	disk := &heldLog{}
	server, err := embeddedmongo.Open(t.TempDir(), embeddedmongo.Options{FS: errorfs.Wrap(vfs.Default, disk)})
	require.NoError(t, err)
	majority := make(chan struct{}, 10) // Gets a value for each majority read.
	s, err := store.Open(t.Context(), store.Config{
		URI: server.URI(), Database: "orch", Dialer: server.ContextDialer(), Clock: clock.System{}, IDs: id.System(),
		Client: func(o *options.ClientOptions) {
			o.SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
				if level, _ := e.Command.Lookup("readConcern", "level").StringValueOK(); e.CommandName == "find" && level == "majority" {
					majority <- struct{}{}
				}
			}})
		},
	})
	require.NoError(t, err)
	c, ws := flows(s), uuid.New()
	client, err := mongo.Connect(options.Client().ApplyURI(server.URI()).SetDialer(server.ContextDialer()).SetReadConcern(readconcern.Local()))
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, client.Disconnect(context.WithoutCancel(t.Context())))
		require.NoError(t, s.Close(context.WithoutCancel(t.Context())))
		require.NoError(t, server.Close())
	})
	local := client.Database("orch").Collection(string(query.Flow))
	tag := func(tag string) store.Decide[*orchv1.Flow] {
		return func(current *orchv1.Flow, _ int64) (*store.Change[*orchv1.Flow], error) {
			next := proto.CloneOf(current)
			next.Tags = append(next.Tags, tag)
			return &store.Change[*orchv1.Flow]{Message: next}, nil
		}
	}
	type outcome struct {
		flow *orchv1.Flow
		err  error
	}
	// concurrently executes a change while the log holds back an earlier write, which is visible to local reads already.
	concurrently := func(t *testing.T, write func(ctx context.Context, key uuid.UUID) error, decide store.Decide[*orchv1.Flow]) (release func() outcome, settled <-chan struct{}) {
		t.Helper()
		key := uuid.New()
		require.NoError(t, c.Insert(t.Context(), ws, &orchv1.Flow{Id: key.String(), Name: key.String()}))
		gate := make(chan struct{})
		disk.gate.Store(&gate)
		ctx := context.WithoutCancel(t.Context())
		written, result, done := make(chan error, 1), make(chan outcome, 1), make(chan struct{})
		go func() { written <- write(ctx, key) }()
		go func() {
			first := bson.D{{Key: "_id", Value: store.Binary(key)}, {Key: "rev", Value: int64(1)}}
			for local.FindOne(ctx, first).Err() == nil {
				runtime.Gosched()
			}
			for len(majority) > 0 { // Of the write.
				<-majority
			}
			flow, err := c.Mutate(ctx, ws, key, decide)
			result <- outcome{flow, err}
			close(done)
		}()
		return func() outcome {
			disk.gate.Store(nil)
			close(gate)
			require.NoError(t, <-written)
			return <-result
		}, done
	}
	write := func(ctx context.Context, key uuid.UUID) error {
		_, err := c.Mutate(ctx, ws, key, tag("unsynced"))
		return err
	}

	t.Run("a change", func(t *testing.T) {
		decided := make(chan []string, 10)
		release, _ := concurrently(t, write, func(current *orchv1.Flow, revision int64) (*store.Change[*orchv1.Flow], error) {
			decided <- current.GetTags()
			return tag("later")(current, revision)
		})
		require.Equal(t, []string{"unsynced"}, <-decided, "the decision does not wait for the log")
		got := release()
		require.NoError(t, got.err)
		require.Equal(t, []string{"unsynced", "later"}, got.flow.GetTags())
		require.Empty(t, decided)
		require.Empty(t, majority)
	})
	t.Run("no change", func(t *testing.T) {
		release, settled := concurrently(t, write, func(*orchv1.Flow, int64) (*store.Change[*orchv1.Flow], error) { return nil, nil })
		select {
		case <-majority:
		case <-settled:
			t.Error("the result may not survive a crash")
		}
		got := release()
		require.NoError(t, got.err)
		require.Equal(t, []string{"unsynced"}, got.flow.GetTags())
	})
	t.Run("a deleted document", func(t *testing.T) {
		remove := func(ctx context.Context, key uuid.UUID) error {
			return c.Delete(ctx, ws, key, func(*orchv1.Flow) ([]store.Effect, error) { return nil, nil })
		}
		release, settled := concurrently(t, remove, tag("later"))
		select {
		case <-majority:
		case <-settled:
			t.Error("the result may not survive a crash")
		}
		require.ErrorIs(t, release().err, store.ErrNotFound)
	})
}
