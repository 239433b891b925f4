package store_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// TestTimeLimitsReachTheServer: each command of each operation tells the server its time limit, so a server does not work on after its
// client gave up.
func TestTimeLimitsReachTheServer(t *testing.T) {
	t.Parallel()
	database := mongotest.Open(t, embeddedmongo.Options{NoSync: true})
	var mu sync.Mutex
	var unlimited []string
	seen := map[string]bool{}
	s, err := store.Open(t.Context(), store.Config{
		URI: database.URI, Database: database.Name, Dialer: database.Dialer, Clock: clock.System{}, IDs: id.System(),
		Client: func(o *options.ClientOptions) {
			o.SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
				mu.Lock()
				defer mu.Unlock()
				seen[e.CommandName] = true
				if slices.Contains([]string{"getMore", "killCursors", "endSessions"}, e.CommandName) {
					return // The limit of a cursor is that of its first command.
				}
				if limit, ok := e.Command.Lookup("maxTimeMS").AsInt64OK(); !ok || limit <= 0 {
					unlimited = append(unlimited, e.CommandName+": "+e.Command.String())
				}
			}})
		},
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(t.Context())) }()
	c, ws, now := flows(s), uuid.New(), s.Now()
	flow := func() *orchv1.Flow {
		key := uuid.NewString()
		return &orchv1.Flow{Id: key, Name: key, Tags: []string{"t"}}
	}
	ctx := t.Context()
	first, second := flow(), flow()
	key := uuid.MustParse(first.GetId())
	document := store.DocumentKey{Workspace: ws, ID: key}
	effect := store.Effect{ID: s.NewID(), At: now, Kind: "k", Body: []byte("b")}
	byName, all := bson.D{{Key: "name", Value: 1}}, bson.D{}
	change := func(current *orchv1.Flow, _ int64) (*store.Change[*orchv1.Flow], error) {
		next := proto.CloneOf(current)
		next.Tags = append(next.Tags, "u")
		return &store.Change[*orchv1.Flow]{Message: next}, nil
	}
	versions := func() []store.Version[*orchv1.Flow] {
		found, err := store.FindVersions(ctx, c, ws, all)
		require.NoError(t, err)
		return found
	}
	for name, operation := range map[string]func() error{
		"EnsureIndexes": func() error { return s.EnsureIndexes(ctx, query.Indexes()[:3]) },
		"Ping":          func() error { return s.Ping(ctx) },
		"Writable":      func() error { return s.Writable(ctx) },
		"Get":           func() error { _, err := c.Get(ctx, ws, key); return err },
		"First":         func() error { _, err := c.First(ctx, ws, all); return err },
		"Find":          func() error { _, err := c.Find(ctx, ws, store.Query{Filter: all, Sort: byName, Limit: 10}); return err },
		"Each": func() error {
			return c.Each(ctx, ws, store.Query{Filter: all, Sort: byName}, func(*orchv1.Flow) bool { return true })
		},
		"EachAcross": func() error {
			return c.EachAcross(ctx, store.Query{Filter: all}, func(uuid.UUID, *orchv1.Flow) error { return nil })
		},
		"FindAcross": func() error {
			_, err := c.FindAcross(ctx, store.Query{Filter: all, Sort: byName, Limit: 10})
			return err
		},
		"Count":     func() error { _, err := c.Count(ctx, ws, store.Query{Filter: all}); return err },
		"Distinct":  func() error { _, err := c.Distinct(ctx, ws, "name", all); return err },
		"Aggregate": func() error { var rows []bson.M; return c.Aggregate(ctx, ws, all, nil, &rows) },
		"InsertAll": func() error { _, err := store.InsertAll(ctx, c, ws, []*orchv1.Flow{flow()}); return err },
		"Mutate":    func() error { _, err := c.Mutate(ctx, ws, key, change); return err },
		"UpdateMany": func() error {
			return s.UpdateMany(ctx, query.Flow, ws, bson.D{{Key: "x", Value: nil}}, bson.D{{Key: "$set", Value: bson.D{{Key: "x", Value: 1}}}})
		},
		"DeleteMany": func() error { return c.DeleteMany(ctx, ws, bson.D{{Key: "name", Value: "none"}}) },
		"ReplaceAll": func() error {
			v := versions()[0]
			_, _, err := store.ReplaceAll(ctx, c, ws, []store.Replacement[*orchv1.Flow]{{Read: v, Next: v.Message}})
			return err
		},
		"Oldest":           func() error { _, err := store.Oldest(ctx, c, ws, all, "name", false, []string{"name"}, 1); return err },
		"Occupied":         func() error { _, err := store.Occupied(ctx, c, ws, first.GetId()); return err },
		"Due":              func() error { _, err := s.Due(ctx, query.Flow, now, 10); return err },
		"DueAgain":         func() error { _, err := s.DueAgain(ctx, query.Flow, time.Time{}, now, nil, 10); return err },
		"Backlog":          func() error { _, _, err := s.Backlog(ctx, query.Flow); return err },
		"Pending":          func() error { _, err := s.Pending(ctx, query.Flow, document); return err },
		"PendingOf":        func() error { _, _, err := s.PendingOf(ctx, query.Flow, []store.DocumentKey{document}); return err },
		"WithPending":      func() error { _, err := store.WithPending(ctx, c, ws, effect.ID); return err },
		"Defer":            func() error { return s.Defer(ctx, query.Flow, store.Failure{DocumentKey: document, NextAt: now}) },
		"Done":             func() error { return s.Done(ctx, query.Flow, store.Outbox{DocumentKey: document}) },
		"DoneDurably":      func() error { return s.DoneDurably(ctx, query.Flow, store.Outbox{DocumentKey: document}) },
		"InsertDeadLetter": func() error { return s.InsertDeadLetter(ctx, store.DeadLetter{ID: s.NewID(), Kind: "k"}) },
		"DeadLetters":      func() error { _, err := s.DeadLetters(ctx, uuid.Nil, uuid.Nil, 10); return err },
		"Claim":            func() error { return s.Claim(ctx, vocabulary.Orch) },
		"TakeLease":        func() error { _, err := s.TakeLease(ctx, "l", key, now.Add(time.Minute)); return err },
		"RemoveRevisions": func() error {
			_, err := store.RemoveRevisions(ctx, c, ws, []store.Revision{{ID: uuid.New(), Revision: 9}})
			return err
		},
	} {
		require.NoError(t, c.Insert(ctx, ws, proto.CloneOf(first), effect), name)
		require.NoError(t, c.Insert(ctx, ws, proto.CloneOf(second)), name)
		require.NoError(t, operation(), name)
		require.NoError(t, s.Clear(ctx, ws, []query.Collection{query.Flow}), name)
	}
	mu.Lock()
	defer mu.Unlock()
	require.Empty(t, unlimited)
	for _, command := range []string{"find", "aggregate", "count", "distinct", "insert", "update", "delete", "findAndModify", "createIndexes"} {
		require.True(t, seen[command], command)
	}
}

// TestFindRefusesOptionsThatItDoesNotSend: an option must not be ignored.
func TestFindRefusesOptionsThatItDoesNotSend(t *testing.T) {
	t.Parallel()
	database := mongotest.Open(t, embeddedmongo.Options{NoSync: true})
	collection := database.Connect().Collection("c")
	_, err := query.Find(t.Context(), collection, bson.D{}, options.Find().SetAllowDiskUse(true))
	require.ErrorContains(t, err, "unsupported options")
	cursor, err := query.Find(t.Context(), collection, nil, options.Find().SetSort(bson.D(nil)).SetLimit(0))
	require.NoError(t, err)
	require.NoError(t, cursor.Close(t.Context()))
}
