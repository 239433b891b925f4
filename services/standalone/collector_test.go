package standalone

import (
	"context"
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
		c := collecting(total.Load, func(percent int) int {
			before := growth
			growth, changes = percent, changes+1
			return before
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
		require.Equal(t, calmGrowth, allocating(busyFrom-1000, 3))
		require.Equal(t, busyGrowth, allocating(busyFrom, 1))
		require.Equal(t, busyGrowth, allocating(10*busyFrom, calmAfter))
		require.Equal(t, busyGrowth, allocating(0, calmAfter-1), "a short rest changes nothing")
		require.Equal(t, busyGrowth, allocating(busyFrom, 1))
		require.Equal(t, calmGrowth, allocating(0, calmAfter))
		require.Equal(t, calmGrowth, allocating(0, 3*calmAfter))
		require.Equal(t, 3, changes, "the first setting, and one for each turn")
		stop()
		require.NoError(t, <-ended)
		require.Equal(t, 100, growth)
	})
}

func TestWhatIsAllocatedIsCounted(t *testing.T) {
	t.Parallel()
	before := allocated()
	kept := make([]byte, 1<<20)
	require.GreaterOrEqual(t, allocated()-before, uint64(len(kept)))
}
