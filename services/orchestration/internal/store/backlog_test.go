package store_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
	"github.com/orch-project/orch/pkg/id"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// TestBacklogOfOutboxesThatEmptyMeanwhile: the relay empties the last outbox after Backlog has counted it, and before Backlog reads
// its oldest effect.
func TestBacklogOfOutboxesThatEmptyMeanwhile(t *testing.T) {
	t.Parallel()
	database := mongotest.Open(t, embeddedmongo.Options{NoSync: true})
	outboxes := database.Connect().Collection(string(query.Flow))
	var armed atomic.Bool
	var document uuid.UUID
	s, err := store.Open(t.Context(), store.Config{
		URI: database.URI, Database: database.Name, Dialer: database.Dialer, Clock: clock.System{}, IDs: id.System(),
		Client: func(o *options.ClientOptions) {
			o.SetMonitor(&event.CommandMonitor{Started: func(ctx context.Context, e *event.CommandStartedEvent) {
				if e.CommandName == "find" && armed.CompareAndSwap(true, false) {
					_, err := outboxes.UpdateByID(context.WithoutCancel(ctx), store.Binary(document), bson.D{{Key: "$unset", Value: bson.D{{Key: "outbox", Value: ""}}}})
					require.NoError(t, err)
				}
			}})
		},
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(t.Context())) }()
	document = uuid.New()
	effect := store.Effect{ID: uuid.New(), At: s.Now(), Kind: "test"}
	require.NoError(t, flows(s).Insert(t.Context(), uuid.New(), &orchv1.Flow{Id: document.String(), Name: "etl"}, effect))
	pending, oldest, err := s.Backlog(t.Context(), query.Flow)
	require.NoError(t, err)
	require.EqualValues(t, 1, pending)
	require.True(t, oldest.Equal(effect.At), oldest)

	armed.Store(true)
	pending, oldest, err = s.Backlog(t.Context(), query.Flow)
	require.NoError(t, err)
	require.False(t, armed.Load())
	require.Zero(t, pending)
	require.Zero(t, oldest)
}
