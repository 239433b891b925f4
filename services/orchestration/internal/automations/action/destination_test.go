package action

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// TestCallsToOneDestinationAreBounded, those to others do not wait for them, and nothing stays in memory.
func TestCallsToOneDestinationAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var d destinations
		slow := destination{uuid.New(), "https://slow.example"}
		var releases []func()
		for range maxPerDestination {
			release, err := d.acquire(t.Context(), slow)
			require.NoError(t, err)
			releases = append(releases, release)
		}
		for _, other := range []destination{{slow.workspace, "https://fast.example"}, {uuid.New(), slow.host}} {
			release, err := d.acquire(t.Context(), other)
			require.NoError(t, err)
			release()
		}
		within, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := d.acquire(within, slow)
		require.ErrorIs(t, err, errBusy)

		waited := make(chan func())
		go func() {
			release, err := d.acquire(t.Context(), slow)
			if err == nil {
				waited <- release
			}
		}()
		synctest.Wait()
		require.Len(t, d.slots, 1)
		releases[0]()
		(<-waited)()
		for _, release := range releases[1:] {
			release()
		}
		require.Empty(t, d.slots)
	})
}
