package resultcache_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/gateway/internal/web/resultcache"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// newCache returns a cache of texts of 100 bytes in all.
func newCache(c clock.Clock) *resultcache.Cache[string] {
	return resultcache.New(c, 100, func(s string) int { return len(s) })
}

// TestWaitingCallersShareOneComputation keeps nothing after it.
func TestWaitingCallersShareOneComputation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cache := newCache(clock.System{})
		computed := 0 // One at a time.
		get := func() {
			got, err := cache.Get(t.Context(), "key", func() (string, time.Duration, error) {
				computed++
				<-time.After(time.Second)
				return "value", 0, nil
			})
			require.NoError(t, err)
			require.Equal(t, "value", got)
		}
		var group sync.WaitGroup
		for range 100 {
			group.Go(get)
		}
		group.Wait()
		require.Equal(t, 1, computed)
		get()
		require.Equal(t, 2, computed)
	})
}

// TestResultsServeForTheirAge includes errors. A clock that steps back ends the age.
func TestResultsServeForTheirAge(t *testing.T) {
	t.Parallel()
	now := clock.NewManual(time.Unix(1_000_000, 0))
	cache := newCache(now)
	slow := errors.New("too slow")
	computed := 0
	get := func() error {
		_, err := cache.Get(t.Context(), "key", func() (string, time.Duration, error) {
			computed++
			return "", 10 * time.Second, slow
		})
		return err
	}
	for _, step := range []struct {
		advance time.Duration
		want    int
	}{{0, 1}, {9 * time.Second, 1}, {time.Second, 2}, {-time.Hour, 3}, {time.Second, 3}} {
		t.Run(fmt.Sprint(step.advance), func(t *testing.T) {
			now.Advance(step.advance)
			require.ErrorIs(t, get(), slow)
			require.Equal(t, step.want, computed)
		})
	}
}
