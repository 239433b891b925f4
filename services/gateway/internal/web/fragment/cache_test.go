package fragment_test

import (
	"bytes"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/gateway/internal/web/fragment"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestEqualFragmentsAreRenderedOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cache := fragment.NewCache(clock.System{})
		renders := 0 // One at a time.
		get := func() fragment.Fragment {
			got, err := cache.Get(t.Context(), "key", func() ([]byte, error) {
				renders++
				<-time.After(300 * time.Millisecond)
				return []byte(strconv.Itoa(renders)), nil
			})
			require.NoError(t, err)
			return got
		}
		var group sync.WaitGroup
		for range 500 {
			group.Go(func() { require.Equal(t, "1", string(get().Body)) })
		}
		group.Wait()
		first := get()
		require.Equal(t, 1, renders)
		<-time.After(time.Second)
		second := get()
		require.Equal(t, 2, renders)
		require.NotEqual(t, first.Tag, second.Tag)
	})
}

func TestErrorsAreNotKept(t *testing.T) {
	t.Parallel()
	cache := fragment.NewCache(clock.NewManual(time.Unix(1, 0)))
	away := errors.New("away")
	_, err := cache.Get(t.Context(), "key", func() ([]byte, error) { return nil, away })
	require.ErrorIs(t, err, away)
	got, err := cache.Get(t.Context(), "key", func() ([]byte, error) { return []byte("x"), nil })
	require.NoError(t, err)
	require.Equal(t, "x", string(got.Body))
}

// TestMemoryIsBounded fills the cache beyond its bound: further fragments are rendered each time, until a second has passed.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	now := clock.NewManual(time.Unix(1, 0))
	cache := fragment.NewCache(now)
	large, renders := bytes.Repeat([]byte("x"), 20<<20), 0
	get := func(key string) {
		_, err := cache.Get(t.Context(), key, func() ([]byte, error) { renders++; return large, nil })
		require.NoError(t, err)
	}
	for range 2 {
		for _, key := range []string{"a", "b", "c", "d"} {
			get(key)
		}
	}
	require.Equal(t, 5, renders, "d is rendered twice")
	now.Advance(time.Second)
	get("d")
	get("d")
	require.Equal(t, 6, renders)
}
