package store_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// TestMutateAfterARollback: a change is decided on a version that is rolled back, and on the new primary another writer reaches the
// same revision number. The change must not overwrite that writer's acknowledged one.
func TestMutateAfterARollback(t *testing.T) {
	t.Parallel()
	disk, log := vfs.NewCrashableMem(), &heldLog{}
	first := openOn(t, errorfs.Wrap(disk, log))
	rolledBack, _ := connect(t, first)
	b, dialB := connect(t, first)
	c, dialC := connect(t, first)
	add := func(tag string) store.Decide[*orchv1.Flow] {
		return func(current *orchv1.Flow, _ int64) (*store.Change[*orchv1.Flow], error) {
			next := proto.CloneOf(current)
			next.Tags = append(next.Tags, tag)
			return &store.Change[*orchv1.Flow]{Message: next}, nil
		}
	}
	ws, key := uuid.New(), uuid.New()
	require.NoError(t, flows(b).Insert(t.Context(), ws, &orchv1.Flow{Id: key.String(), Name: "f"}))

	// A write is visible and not replicated (here: not synced).
	gate := make(chan struct{})
	log.gate.Store(&gate)
	ctx, lose := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := flows(rolledBack).Mutate(ctx, ws, key, add("never acknowledged"))
		ended <- err
	}()
	defer func() {
		log.gate.Store(nil)
		close(gate)
		<-ended
	}()
	client, err := mongo.Connect(options.Client().ApplyURI(first.URI()).SetDialer(first.ContextDialer()).SetReadConcern(readconcern.Local()))
	require.NoError(t, err)
	before := bson.D{{Key: "_id", Value: store.Binary(key)}, {Key: "rev", Value: int64(1)}}
	for client.Database("orch").Collection(string(query.Flow)).FindOne(t.Context(), before).Err() == nil {
		runtime.Gosched()
	}
	require.NoError(t, client.Disconnect(t.Context()))

	decisions := 0
	_, err = flows(c).Mutate(t.Context(), ws, key, func(current *orchv1.Flow, revision int64) (*store.Change[*orchv1.Flow], error) {
		if decisions++; decisions == 1 {
			require.Equal(t, []string{"never acknowledged"}, current.GetTags())
			lose()
			second := successor(t, disk)
			dialB.switchTo(second)
			dialC.switchTo(second)
			for _, s := range []*store.Store{b, c} { // Other requests of these replicas have found the new primary.
				require.Eventually(t, func() bool { _, err := flows(s).Get(t.Context(), ws, key); return err == nil }, time.Minute, time.Millisecond)
			}
			acknowledged, err := flows(b).Mutate(t.Context(), ws, key, add("acknowledged"))
			require.NoError(t, err)
			require.Equal(t, []string{"acknowledged"}, acknowledged.GetTags())
		}
		return add("later")(current, revision)
	})
	require.NoError(t, err)
	stored, err := flows(b).Get(t.Context(), ws, key)
	require.NoError(t, err)
	require.Equal(t, []string{"acknowledged", "later"}, stored.GetTags())
}
