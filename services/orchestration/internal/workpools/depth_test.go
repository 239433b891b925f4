package workpools

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestDepthCountsWhatNeedsAWorker(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pool("p")
	first, second := w.queue("p", "first", 1), w.queue("p", "second", 2)
	w.waiting(first, 3)
	w.waiting(second, 2)
	w.clock.Advance(time.Minute)
	pool := func() *orchv1.WorkDepth {
		depth, err := w.service.ReadWorkPoolDepth(w.ctx, &orchv1.ReadWorkPoolDepthRequest{Name: "p"})
		require.NoError(t, err)
		return depth
	}
	queue := func(name string) *orchv1.WorkDepth {
		depth, err := w.service.ReadWorkPoolQueueDepth(w.ctx, &orchv1.ReadWorkPoolQueueDepthRequest{WorkPoolName: "p", Name: name})
		require.NoError(t, err)
		return depth
	}
	require.EqualValues(t, 5, pool().GetWaiting())
	require.EqualValues(t, 5, pool().GetDemand())
	require.EqualValues(t, 3, queue("first").GetWaiting())
	require.Zero(t, queue("default").GetDemand())

	w.clock.Advance(-time.Hour)
	require.Zero(t, pool().GetWaiting(), "the time of the runs has not come")
	w.clock.Advance(time.Hour)
	_, err := w.service.UpdateWorkPoolQueue(w.ctx, &orchv1.UpdateWorkPoolQueueRequest{
		WorkPoolName: "p", Name: "first", WorkQueue: &orchv1.WorkQueueUpdate{IsPaused: true}, UpdateMask: mask("is_paused"),
	})
	require.NoError(t, err)
	require.EqualValues(t, 2, pool().GetWaiting(), "runs of a paused queue wait for nobody")
	_, err = w.service.ReadWorkPoolDepth(w.ctx, &orchv1.ReadWorkPoolDepthRequest{Name: "nobody"})
	require.Error(t, err)
	_, err = w.service.ReadWorkPoolQueueDepth(w.ctx, &orchv1.ReadWorkPoolQueueDepthRequest{WorkPoolName: "p", Name: "nobody"})
	require.Error(t, err)
}
