package command

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLongReadsTakeTurns simulates two long reads in a lane with one slot, and a short one.
func TestLongReadsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lane{slots: make(chan struct{}, 1)}
		began := time.Now()
		ends := make(chan time.Duration, 2)
		read := func(work time.Duration) {
			r := turns{lane: l}
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

		r := turns{lane: l, checks: freeChecks}
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

func assertNext(t *testing.T, r *turns) {
	t.Helper()
	if err := r.next(t.Context(), time.Time{}); err != nil {
		t.Error(err)
	}
}
