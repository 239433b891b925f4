package standalone

import (
	"context"
	goruntime "runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGarbageIsCollectedLessOftenWhileMuchIsThrownAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var total atomic.Uint64
		growth, changes := 100, 0
		var live atomic.Uint64
		live.Store(20 << 20)
		c := collecting(runtime{
			heap: func() (uint64, uint64) { return total.Load(), live.Load() },
			set: func(percent int) int {
				before := growth
				growth, changes = percent, changes+1
				return before
			},
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		synctest.Wait()
		allocating := func(perSecond uint64, looks int) int {
			for range looks {
				total.Add(perSecond / uint64(time.Second/collectEvery))
				<-time.After(collectEvery)
				synctest.Wait()
			}
			return growth
		}
		const slow, fast = 64 << 20, 1 << 30
		require.Equal(t, minGrowth, allocating(slow, 3))
		require.Equal(t, maxGrowth, allocating(fast, 1))
		require.Equal(t, maxGrowth, allocating(10*fast, samples))
		require.Equal(t, maxGrowth, allocating(0, samples-1), "a short rest changes nothing")
		require.Equal(t, maxGrowth, allocating(fast, 1))
		require.Equal(t, minGrowth, allocating(slow, samples))
		require.Equal(t, minGrowth, allocating(0, 3*samples))
		require.Equal(t, 3, changes, "the first setting, and one for each turn")
		live.Store(36 << 20)
		require.Equal(t, 100, allocating(fast, 2), "the heap stays below its size")
		live.Store(52 << 20)
		require.Equal(t, 100, allocating(fast, samples), "a larger heap doubles at most")
		live.Store(100 << 20)
		require.Equal(t, 100, allocating(fast, samples))
		require.Equal(t, minGrowth, allocating(slow, samples))
		live.Store(32 << 20)
		require.InDelta(t, 80, allocating(256<<20, 1), 1, "ten collections per second")
		stop()
		require.NoError(t, <-ended)
		require.Equal(t, 100, growth)
	})
}

func TestWhatIsAllocatedIsCounted(t *testing.T) {
	t.Parallel()
	before, _ := heap()
	kept := make([]byte, 1<<20)
	goruntime.GC()
	after, live := heap()
	require.GreaterOrEqual(t, after-before, uint64(len(kept)))
	require.Greater(t, live, uint64(len(kept)))
	goruntime.KeepAlive(kept)
}
