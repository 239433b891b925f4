package command

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/embeddedmongo/internal/storage"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/value"
	"github.com/orch-project/orch/pkg/embeddedmongo/internal/wire"
)

// TestLongReadsTakeTurns simulates two long reads in a lane with one slot, and a short one.
func TestLongReadsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &longReadLimiter{slots: make(chan struct{}, 1)}
		began := time.Now()
		ends := make(chan time.Duration, 2)
		read := func(work time.Duration) {
			r := timeSlices{limiter: l}
			defer r.end()
			for range work / time.Millisecond {
				<-time.After(time.Millisecond)
				assertNext(t, &r)
			}
			ends <- time.Since(began)
		}
		go read(100 * time.Millisecond)
		go read(100 * time.Millisecond)
		require.Greater(t, <-ends, 150*time.Millisecond, "both had turns")
		require.GreaterOrEqual(t, <-ends, 180*time.Millisecond)

		l.slots <- struct{}{} // Another long read works.
		began = time.Now()
		go read(freeChecks * time.Millisecond)
		require.Equal(t, freeChecks*time.Millisecond, <-ends, "a short read never waits")

		r := timeSlices{limiter: l, checks: freeChecks}
		require.ErrorContains(t, r.next(t.Context(), time.Now().Add(time.Second)), "time limit")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.Error(t, r.next(ctx, time.Time{}))
		r.end()
		require.NoError(t, r.next(t.Context(), time.Time{}), "a command that has ended has no turns")
		require.Zero(t, l.waiting.Load())
		require.Len(t, l.slots, 1)
	})
}

func assertNext(t *testing.T, r *timeSlices) {
	t.Helper()
	if err := r.next(t.Context(), time.Time{}); err != nil {
		t.Error(err)
	}
}

// A read with a long filter waits for a turn before it is planned; a short one does not.
func TestLongCommandsTakeTurns(t *testing.T) {
	t.Parallel()
	e, err := storage.Open("data", storage.Options{FS: vfs.NewMem(), NoSync: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	_, err = e.Collection("d", "c")
	require.NoError(t, err)
	s := New(e, Config{Log: slog.New(slog.DiscardHandler)})
	for range cap(s.longReads.slots) {
		s.longReads.slots <- struct{}{} // Other long reads work.
	}
	find := func(ids int) value.Doc {
		list := make(bson.A, ids)
		for i := range list {
			list[i] = fmt.Sprintf("%036d", i)
		}
		body, err := bson.Marshal(bson.D{
			{Key: "find", Value: "c"}, {Key: "filter", Value: bson.M{"_id": bson.M{"$in": list}}}, {Key: "maxTimeMS", Value: 60_000}, {Key: "$db", Value: "d"},
		})
		require.NoError(t, err)
		return s.Handle(t.Context(), 1, &wire.Message{Body: value.Doc(body)})
	}
	require.True(t, find(100).Get("ok").Truthy())
	answered := make(chan value.Doc, 1)
	go func() { answered <- find(10_000) }()
	require.Eventually(t, func() bool { return s.longReads.waiting.Load() == 1 }, time.Minute, time.Millisecond)
	require.Empty(t, answered)
	<-s.longReads.slots
	require.True(t, (<-answered).Get("ok").Truthy())
	require.Len(t, s.longReads.slots, cap(s.longReads.slots)-1, "it gave its slot back")
}
