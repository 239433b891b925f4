package coalesce_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/orchestration/internal/coalesce"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// reader is a read that takes a second and returns the number of its call.
type reader struct{ calls atomic.Int64 }

func (r *reader) read(context.Context) (int64, error) {
	n := r.calls.Add(1)
	<-time.After(time.Second)
	return n, nil
}

func TestCallersShareTheReadThatFollows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var group coalesce.Group[string, int64]
		var r reader
		results := make([]int64, 100)
		var wg sync.WaitGroup
		for i := range results {
			wg.Go(func() {
				var err error
				results[i], err = group.Do(t.Context(), "key", r.read)
				require.NoError(t, err)
			})
		}
		wg.Wait()
		require.Equal(t, int64(2), r.calls.Load(), "the first caller's read, and one for all others")
		alone := 0
		for _, n := range results {
			if n == 1 {
				alone++
			}
		}
		require.Equal(t, 1, alone)

		_, err := group.Do(t.Context(), "key", r.read)
		require.NoError(t, err)
		require.Equal(t, int64(3), r.calls.Load(), "a finished read serves nobody")
	})
}

// TestNoCallerSeesAnOlderResult writes while a read is in progress, as a client does that counts after its own write.
func TestNoCallerSeesAnOlderResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var group coalesce.Group[string, int64]
		var stored atomic.Int64
		read := func(context.Context) (int64, error) {
			n := stored.Load()
			<-time.After(time.Second)
			return n, nil
		}
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				written := stored.Add(1)
				n, err := group.Do(t.Context(), "key", read)
				require.NoError(t, err)
				require.GreaterOrEqual(t, n, written)
			})
			<-time.After(30 * time.Millisecond)
		}
		wg.Wait()
	})
}

func TestKeysAreApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var group coalesce.Group[int, int64]
		var r reader
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() { _, _ = group.Do(t.Context(), i, r.read) })
		}
		began := time.Now()
		wg.Wait()
		require.Equal(t, time.Second, time.Since(began))
		require.Equal(t, int64(5), r.calls.Load())
	})
}

// TestAPanicIsTheCallers: in the goroutine of a shared read it would end the process, although each caller recovers.
func TestAPanicIsTheCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var group coalesce.Group[string, int64]
		var panics atomic.Int64
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				defer func() {
					if p := recover(); p != nil {
						panics.Add(1)
					}
				}()
				_, _ = group.Do(t.Context(), "key", func(context.Context) (int64, error) {
					<-time.After(time.Second)
					panic("broken")
				})
			})
		}
		wg.Wait()
		require.Equal(t, int64(5), panics.Load())
		n, err := group.Do(t.Context(), "key", func(context.Context) (int64, error) { return 7, nil })
		require.NoError(t, err)
		require.Equal(t, int64(7), n, "the key is free again")
	})
}

func TestCanceledCallerLeavesTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var group coalesce.Group[string, int64]
		var r reader
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = group.Do(t.Context(), "key", r.read) })
		synctest.Wait()
		wg.Go(func() {
			_, err := group.Do(ctx, "key", r.read)
			require.ErrorIs(t, err, context.Canceled)
		})
		synctest.Wait()
		wg.Go(func() {
			n, err := group.Do(t.Context(), "key", r.read)
			require.NoError(t, err)
			require.Equal(t, int64(2), n)
		})
		synctest.Wait()
		cancel()
		wg.Wait()
	})
}

func TestErrorsAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var group coalesce.Group[string, int64]
		broken := errors.New("broken")
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				_, err := group.Do(t.Context(), "key", func(context.Context) (int64, error) {
					<-time.After(time.Second)
					return 0, broken
				})
				require.ErrorIs(t, err, broken)
			})
		}
		wg.Wait()
	})
}
