package leader_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/services/orchestration/internal/leader"
)

func TestLeaseHasOneHolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := leader.NewLease(w.store, "x", time.Minute), leader.NewLease(w.store, "x", time.Minute)
	acquire := func(l *leader.Lease) bool {
		held, err := l.Acquire(t.Context())
		require.NoError(t, err)
		return held
	}
	require.True(t, acquire(a))
	require.False(t, acquire(b))
	require.True(t, acquire(a), "a renewal")
	require.NoError(t, b.Release(t.Context()), "nothing to release")
	require.False(t, acquire(b))
	w.clock.Advance(time.Minute)
	require.True(t, acquire(b), "it has expired")
	require.False(t, acquire(a))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, b.Release(ended))
	require.True(t, acquire(a))
}

func TestLeadExcludesOthersAndReleases(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := leader.NewLease(w.store, "x", time.Minute), leader.NewLease(w.store, "x", time.Minute)
	broken := errors.New("broken")
	held, err := a.Lead(t.Context(), func(ctx context.Context) error {
		held, err := b.Lead(ctx, func(context.Context) error {
			t.Error("two replicas lead")
			return nil
		})
		require.NoError(t, err)
		require.False(t, held)
		return broken
	})
	require.ErrorIs(t, err, broken)
	require.True(t, held)
	held, err = b.Lead(t.Context(), func(context.Context) error { return nil })
	require.NoError(t, err)
	require.True(t, held, "it need not wait for the end of the term")
}

// TestLeadEndsWhenAnotherReplicaHasTheLease: the clock steps back, and another replica acquires the lease. By the clock the term would last
// for another hour.
func TestLeadEndsWhenAnotherReplicaHasTheLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const term = 30 * time.Millisecond
	a, b := leader.NewLease(w.store, "x", term), leader.NewLease(w.store, "x", term)
	held, err := a.Lead(t.Context(), func(ctx context.Context) error {
		w.clock.Advance(-time.Hour)
		held, err := b.Acquire(t.Context())
		require.NoError(t, err)
		require.True(t, held)
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), leader.ErrLost)
		return nil
	})
	require.ErrorIs(t, err, leader.ErrLost)
	require.True(t, held)
	held, err = a.Acquire(t.Context())
	require.NoError(t, err)
	require.False(t, held, "the lease of the other replica is not released")
}

func TestRunLeadsAgainAfterAFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	times := 0
	leader.NewLease(w.store, "x", time.Minute).Run(ctx, time.Millisecond, slog.New(slog.DiscardHandler), func(context.Context) error {
		if times++; times == 3 {
			cancel()
		}
		return errors.New("broken")
	})
	require.Equal(t, 3, times)
}

func TestRenewSurvivesFailuresWithinATerm(t *testing.T) {
	t.Parallel()
	const term = 10 * time.Second
	broken := errors.New("the store is away")
	for name, c := range map[string]struct {
		failures int           // Consecutive failures after the first renewal.
		lost     time.Duration // The time of the loss; 0 for none.
	}{
		"two failures":           {failures: 2},
		"failures during a term": {failures: 100, lost: 3*time.Second + term},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				ticker := time.NewTicker(3 * time.Second)
				defer ticker.Stop()
				began, calls := time.Now(), 0
				err := leader.Renew(ctx, ticker.C, began, term, func(context.Context) (bool, error) {
					if calls++; calls > 1 && calls <= 1+c.failures {
						return false, broken
					}
					return true, nil
				})
				if c.lost == 0 {
					require.NoError(t, err)
					require.Equal(t, time.Minute, time.Since(began))
					return
				}
				require.ErrorIs(t, err, leader.ErrLost)
				require.ErrorIs(t, err, broken)
				require.Equal(t, c.lost, time.Since(began))
			})
		})
	}
}

// TestRenewBoundsAnAttempt: an attempt that outlasts the term ends with it.
func TestRenewBoundsAnAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ticks := make(chan time.Time, 1)
		ticks <- began
		err := leader.Renew(t.Context(), ticks, began, time.Second, func(ctx context.Context) (bool, error) {
			<-ctx.Done()
			return false, ctx.Err()
		})
		require.ErrorIs(t, err, leader.ErrLost)
		require.Equal(t, time.Second, time.Since(began))
	})
}
