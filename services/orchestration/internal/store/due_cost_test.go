package store_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

// TestDueCost: what a sweep and a measurement read does not grow with the outboxes that wait for their next attempt, whose effects are
// older.
func TestDueCost(t *testing.T) {
	t.Parallel()
	database := mongotest.Open(t, embeddedmongo.Options{NoSync: true})
	s := storetest.Connect(t, database, clock.System{})
	require.NoError(t, s.EnsureIndexes(t.Context(), query.Indexes()))
	runs := database.Connect().Collection(string(query.FlowRun))
	now := time.Now()
	insert := func(n int, at, next time.Time) {
		docs := make([]any, n)
		for i := range docs {
			doc := bson.D{
				{Key: "_id", Value: store.Binary(uuid.New())},
				{Key: "ws", Value: store.Binary(uuid.New())},
				{Key: "rev", Value: int64(1)},
				{Key: "name", Value: uuid.NewString()},
				{Key: "outbox", Value: bson.A{
					bson.D{{Key: "id", Value: store.Binary(uuid.New())}, {Key: "at", Value: at.UnixMicro()}, {Key: "kind", Value: "publish"}},
					bson.D{{Key: "id", Value: store.Binary(uuid.New())}, {Key: "at", Value: at.Add(time.Second).UnixMicro()}, {Key: "kind", Value: "publish"}},
				}},
			}
			if !next.IsZero() {
				doc = append(doc, bson.E{Key: "outbox_attempts", Value: int64(0)}, bson.E{Key: "outbox_next_at", Value: next.UnixMicro()})
			}
			docs[i] = doc
		}
		_, err := runs.InsertMany(t.Context(), docs)
		require.NoError(t, err)
	}
	const deferred, fresh, due, idle = 3000, 20, 7, 500
	insert(deferred, now.Add(-time.Hour), now.Add(time.Hour))
	insert(fresh, now.Add(-time.Minute), time.Time{})
	insert(due, now.Add(-time.Hour), now.Add(-time.Second))
	for range idle {
		_, err := runs.InsertOne(t.Context(), bson.D{{Key: "_id", Value: store.Binary(uuid.New())}, {Key: "ws", Value: store.Binary(uuid.New())}, {Key: "name", Value: uuid.NewString()}, {Key: "outbox", Value: bson.A{}}})
		require.NoError(t, err)
	}
	examined := func(command bson.D) (keys, documents int64) {
		t.Helper()
		var reply struct {
			Stats struct {
				Keys      int64 `bson:"totalKeysExamined"`
				Documents int64 `bson:"totalDocsExamined"`
			} `bson:"executionStats"`
		}
		err := database.Connect().RunCommand(t.Context(), bson.D{{Key: "explain", Value: command}, {Key: "verbosity", Value: "executionStats"}}).Decode(&reply)
		require.NoError(t, err)
		return reply.Stats.Keys, reply.Stats.Documents
	}
	var commands []bson.D
	watched, err := store.Open(t.Context(), store.Config{
		URI: database.URI, Database: database.Name, Dialer: database.Dialer, Clock: clock.System{}, IDs: id.System(),
		Client: func(o *options.ClientOptions) {
			o.SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
				if e.CommandName != "find" && e.CommandName != "count" || e.Command.Index(0).Value().StringValue() != string(query.FlowRun) {
					return
				}
				var command bson.D
				require.NoError(t, bson.Unmarshal(e.Command, &command))
				commands = append(commands, slices.DeleteFunc(command, func(field bson.E) bool { // An explained command has no session.
					return strings.HasPrefix(field.Key, "$") || slices.Contains([]string{"lsid", "readConcern", "maxTimeMS"}, field.Key)
				}))
			}})
		},
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, watched.Close(t.Context())) }()
	found, err := watched.Due(t.Context(), query.FlowRun, now, 1000)
	require.NoError(t, err)
	require.Len(t, found, fresh)
	again, err := watched.DueAgain(t.Context(), query.FlowRun, time.Time{}, now, nil, 1000)
	require.NoError(t, err)
	require.Len(t, again, due)
	future, err := watched.DueInFuture(t.Context(), query.FlowRun, now.Add(time.Minute), now.Add(2*time.Hour), 1000)
	require.NoError(t, err)
	require.Empty(t, future)
	require.Len(t, commands, 4)
	for _, command := range commands {
		keys, documents := examined(command)
		require.LessOrEqual(t, keys, int64(2*fresh+10), command)
		require.LessOrEqual(t, documents, int64(2*fresh), command)
	}

	commands = nil
	pending, oldest, err := watched.Backlog(t.Context(), query.FlowRun)
	require.NoError(t, err)
	require.EqualValues(t, fresh+1000, pending, "of the failed ones a bounded number is counted")
	require.WithinDuration(t, now.Add(-time.Hour), oldest, time.Second)
	require.Len(t, commands, 3)
	for _, command := range commands {
		keys, documents := examined(command)
		require.LessOrEqual(t, keys, int64(1010), command)
		require.LessOrEqual(t, documents, int64(1010), command)
	}

	// A page costs the same however many came before it.
	const ladder, page = 500, 20
	first := now.Add(-30 * time.Second)
	for i := range ladder {
		insert(1, first.Add(time.Duration(i)*10*time.Millisecond), time.Time{})
	}
	commands = nil
	after := first.Add(ladder / 2 * 10 * time.Millisecond)
	found, err = watched.DueBetween(t.Context(), query.FlowRun, after, now, page)
	require.NoError(t, err)
	require.Len(t, found, page)
	for _, command := range commands {
		keys, documents := examined(command)
		require.LessOrEqual(t, keys, int64(page+110), command) // Each document has a second effect, a second later.
		require.LessOrEqual(t, documents, int64(page+110), command)
	}
	found, err = watched.DueBetween(t.Context(), query.FlowRun, after, after.Add(50*time.Millisecond), page)
	require.NoError(t, err)
	for _, d := range found {
		require.True(t, d.Oldest.Before(after.Add(50*time.Millisecond)))
	}
}
