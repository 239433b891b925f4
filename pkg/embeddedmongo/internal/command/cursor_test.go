package command

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/wire"
)

// service serves a store with the documents {_id: 0, v: 0} to {_id: 4999, v: 4999}. The store reports open iterators when it closes.
func service(t *testing.T) *Service {
	t.Helper()
	e, err := storage.Open("data", storage.Options{FS: vfs.NewMem(), NoSync: true})
	require.NoError(t, err)
	s := New(e, Config{Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		s.Close()
		require.NoError(t, e.Close())
	})
	c, err := e.Collection("d", "c")
	require.NoError(t, err)
	var docs []value.Doc
	for i := range 5000 {
		raw, err := bson.Marshal(bson.D{{Key: "_id", Value: i}, {Key: "v", Value: i}})
		require.NoError(t, err)
		docs = append(docs, value.Doc(raw))
	}
	for len(docs) > 0 {
		inserted, err := c.InsertMany(e.Begin(false, true), docs, true, nil)
		require.NoError(t, err)
		docs = docs[len(inserted):]
	}
	return s
}

func message(t *testing.T, command bson.D) *wire.Message {
	t.Helper()
	raw, err := bson.Marshal(command)
	require.NoError(t, err)
	return &wire.Message{DB: "d", Body: value.Doc(raw)}
}

// The time between the commands of a cursor does not count for its time limit, and what its commands have used does.
func TestTimeLimitOfACursorIsItsWork(t *testing.T) {
	t.Parallel()
	s := service(t)
	open := func() *cursor {
		reply := s.Handle(t.Context(), 1, message(t, bson.D{{Key: "find", Value: "c"}, {Key: "batchSize", Value: 10}, {Key: "maxTimeMS", Value: 3_600_000}}))
		id, _ := reply.Get("cursor").Doc().Get("id").Int()
		require.NotZero(t, id, reply)
		return s.cursors.m[id]
	}
	more := func(c *cursor) value.Doc {
		return s.Handle(t.Context(), 1, message(t, bson.D{{Key: "getMore", Value: c.id}, {Key: "collection", Value: "c"}, {Key: "batchSize", Value: 2000}}))
	}
	idle := open()
	require.NotZero(t, idle.left)
	idle.r.deadline = time.Now().Add(-time.Hour) // As if the client had waited since the find.
	reply := more(idle)
	require.True(t, reply.Get("ok").Truthy(), reply)
	require.Less(t, idle.left, time.Hour)

	spent := open()
	spent.left = 1 // As if the find had used the rest.
	require.Equal(t, "MaxTimeMSExpired", more(spent).Get("codeName").Str())
}

// panicking is a context that panics where a command asks whether it has ended, after some times.
type panicking struct {
	context.Context
	left atomic.Int64
}

func (p *panicking) Err() error {
	if p.left.Add(-1) < 0 {
		panic("as a bug in a plan")
	}
	return p.Context.Err()
}

// A command that panics releases all that it holds: iterators, cursors and commits.
func TestPanicsReleaseWhatCommandsHold(t *testing.T) {
	t.Parallel()
	few := bson.M{"v": bson.M{"$mod": bson.A{4999, 1}}}
	for name, command := range map[string]bson.D{
		"find":      {{Key: "find", Value: "c"}, {Key: "filter", Value: few}, {Key: "sort", Value: bson.M{"v": 1}}},
		"count":     {{Key: "count", Value: "c"}, {Key: "query", Value: few}},
		"distinct":  {{Key: "distinct", Value: "c"}, {Key: "key", Value: "v"}},
		"aggregate": {{Key: "aggregate", Value: "c"}, {Key: "pipeline", Value: bson.A{bson.M{"$match": few}, bson.M{"$group": bson.M{"_id": "$v", "n": bson.M{"$sum": 1}}}}}, {Key: "cursor", Value: bson.M{}}},
		"update":    {{Key: "update", Value: "c"}, {Key: "updates", Value: bson.A{bson.M{"q": bson.M{}, "u": bson.M{"$inc": bson.M{"n": 1}}, "multi": true}}}},
		"delete":    {{Key: "delete", Value: "c"}, {Key: "deletes", Value: bson.A{bson.M{"q": few, "limit": 0}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := service(t)
			ctx := &panicking{Context: t.Context()}
			ctx.left.Store(3)
			reply := s.Handle(ctx, 1, message(t, command))
			require.Contains(t, reply.Get("errmsg").Str(), "as a bug in a plan")
		})
	}
	t.Run("getMore", func(t *testing.T) {
		t.Parallel()
		s := service(t)
		reply := s.Handle(t.Context(), 1, message(t, bson.D{{Key: "find", Value: "c"}, {Key: "batchSize", Value: 10}}))
		id, _ := reply.Get("cursor").Doc().Get("id").Int()
		more := bson.D{{Key: "getMore", Value: id}, {Key: "collection", Value: "c"}}
		reply = s.Handle(&panicking{Context: t.Context()}, 1, message(t, more))
		require.Contains(t, reply.Get("errmsg").Str(), "as a bug in a plan")
		reply = s.Handle(t.Context(), 1, message(t, more))
		require.Equal(t, "CursorNotFound", reply.Get("codeName").Str())
	})
}
