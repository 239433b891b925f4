package dedup_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/orch-project/orch/services/hooks/internal/dedup"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOneOfManyPublishes(t *testing.T) {
	t.Parallel()
	var w dedup.Set
	id := uuid.New()
	var published, duplicates atomic.Int64
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			duplicate, err := w.Do(t.Context(), id, func() error {
				published.Add(1)
				return nil
			})
			if err == nil && duplicate {
				duplicates.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, published.Load())
	require.EqualValues(t, 49, duplicates.Load())
	require.True(t, w.Published(id))
}

func TestAFailureIsNoDelivery(t *testing.T) {
	t.Parallel()
	var w dedup.Set
	id, away := uuid.New(), errors.New("the broker is away")
	var tries atomic.Int64
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			_, _ = w.Do(t.Context(), id, func() error {
				if tries.Add(1) < 5 {
					return away
				}
				return nil
			})
		})
	}
	wg.Wait()
	require.EqualValues(t, 5, tries.Load(), "waiting callers publish, until one succeeds")
	require.True(t, w.Published(id))
}

// A panic of publish leaves nothing in flight: the next delivery of the id publishes.
func TestAPanicReleasesTheID(t *testing.T) {
	t.Parallel()
	var w dedup.Set
	id := uuid.New()
	require.Panics(t, func() {
		_, _ = w.Do(t.Context(), id, func() error { panic("a bug of publish") })
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	duplicate, err := w.Do(ctx, id, func() error { return nil })
	require.NoError(t, err)
	require.False(t, duplicate)
	require.True(t, w.Published(id))
}

// Waiting for a delivery in flight ends with the context.
func TestWaitingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w dedup.Set
		id := uuid.New()
		release := make(chan struct{})
		go func() {
			_, _ = w.Do(t.Context(), id, func() error {
				<-release
				return nil
			})
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := w.Do(ctx, id, func() error { panic("unreachable") })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		close(release)
		synctest.Wait()
		duplicate, err := w.Do(t.Context(), id, func() error { panic("unreachable") })
		require.NoError(t, err)
		require.True(t, duplicate)
	})
}

func TestTheMemoryIsBounded(t *testing.T) {
	t.Parallel()
	var w dedup.Set
	ids := make([]uuid.UUID, 1<<17)
	for i := range ids {
		ids[i] = uuid.New()
		_, err := w.Do(t.Context(), ids[i], func() error { return nil })
		require.NoError(t, err)
	}
	remembered := 0
	for i, id := range ids {
		if w.Published(id) {
			remembered++
		} else {
			require.Less(t, i, len(ids)-1<<15, "the last ones are remembered")
		}
	}
	require.LessOrEqual(t, remembered, 1<<16)
}
