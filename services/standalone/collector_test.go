package standalone

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGarbageIsCollectedLessOftenWhileWebhooksComeFast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		growth := 100
		c := collecting(func(percent int) int {
			before := growth
			growth = percent
			return before
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		second := func(webhooks int64) int {
			c.webhooks.Add(webhooks)
			time.Sleep(collectEvery) //nolint:forbidigo // Of the bubble.
			synctest.Wait()
			return growth
		}
		require.Equal(t, calmGrowth, second(busyFrom-1))
		require.Equal(t, busyGrowth, second(busyFrom))
		require.Equal(t, busyGrowth, second(10*busyFrom))
		require.Equal(t, calmGrowth, second(0))
		stop()
		require.NoError(t, <-ended)
		require.Equal(t, 100, growth)
	})
}

func TestWebhooksAreCounted(t *testing.T) {
	t.Parallel()
	c := newCollector()
	handler := c.counting(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hooks/slug", nil))
	require.Equal(t, http.StatusNoContent, w.Code)
	require.EqualValues(t, 1, c.webhooks.Load())
}
