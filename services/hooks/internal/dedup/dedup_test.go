package dedup_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/orch-project/orch/services/hooks/internal/dedup"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOneOfManyPublishes(t *testing.T) {
	t.Parallel()
	var m dedup.Window
	id := uuid.New()
	var published, repeated atomic.Int64
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			repeat, err := m.Do(id, func() error {
				published.Add(1)
				return nil
			})
			if err == nil && repeat {
				repeated.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, published.Load())
	require.EqualValues(t, 49, repeated.Load())
	require.True(t, m.Known(id))
}

func TestAFailureIsNoDelivery(t *testing.T) {
	t.Parallel()
	var m dedup.Window
	id, away := uuid.New(), errors.New("the broker is away")
	var tries atomic.Int64
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			_, _ = m.Do(id, func() error {
				if tries.Add(1) < 5 {
					return away
				}
				return nil
			})
		})
	}
	wg.Wait()
	require.EqualValues(t, 5, tries.Load(), "those that waited try themselves, until one has done it")
	require.True(t, m.Known(id))
}

func TestTheMemoryIsBounded(t *testing.T) {
	t.Parallel()
	var m dedup.Window
	ids := make([]uuid.UUID, 1<<17)
	for i := range ids {
		ids[i] = uuid.New()
		_, err := m.Do(ids[i], func() error { return nil })
		require.NoError(t, err)
	}
	known := 0
	for i, id := range ids {
		if m.Known(id) {
			known++
		} else {
			require.Less(t, i, len(ids)-1<<15, "the last ones are known")
		}
	}
	require.LessOrEqual(t, known, 1<<16)
}
