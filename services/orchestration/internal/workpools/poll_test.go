package workpools

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// pollBefore returns the names of the runs that start by a time.
func (w *world) pollBefore(pool string, before time.Time, limit int64) ([]string, error) {
	polled, err := w.service.GetScheduledFlowRuns(w.ctx, &orchv1.GetScheduledFlowRunsRequest{
		Name: pool, Query: &orchv1.ScheduledFlowRunQuery{ScheduledBefore: timestamppb.New(before), Limit: &orchv1.PageLimit{Value: limit}},
	})
	var names []string
	for _, run := range polled.GetFlowRuns() {
		names = append(names, run.GetFlowRun().GetName())
	}
	return names, err
}

// A shared read has its bound rounded up. Each poll still has exactly the runs within its own bound. Where a run of the first
// queue starts too late, the next queue fills the limit.
func TestPollsWithinOneGrainKeepTheirBounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pool("p")
	first, second := w.queue("p", "first", 1), w.queue("p", "second", 2)
	w.waiting(first, 1)
	w.clock.Advance(50 * time.Millisecond)
	w.waitingAs(first, "later", 1)
	w.waiting(second, 1)
	start := w.clock.Now()
	for _, c := range []struct {
		before time.Time
		limit  int64
		want   []string
	}{
		{start, 200, []string{"first-0", "later-0", "second-0"}},
		{start.Add(-time.Microsecond), 200, []string{"first-0"}},
		{start, 2, []string{"first-0", "later-0"}},
		{start.Add(-time.Microsecond), 2, []string{"first-0"}},
		{start.Add(-50 * time.Millisecond), 1, []string{"first-0"}},
		{start.Add(-50*time.Millisecond - time.Microsecond), 1, nil},
	} {
		t.Run(fmt.Sprint(c.before), func(t *testing.T) {
			names, err := w.pollBefore("p", c.before, c.limit)
			require.NoError(t, err)
			require.Equal(t, c.want, names)
		})
	}
}

// Polls that run at once share reads, each with its own bound.
func TestConcurrentPollsKeepTheirBounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pool("p")
	w.waiting(w.queue("p", "q", 1), 3) // One second apart.
	start := w.clock.Now()
	var group sync.WaitGroup
	failures := make([]error, 64)
	for i := range failures {
		group.Go(func() {
			bound, want := start, []string{"q-0"}
			if i%2 == 0 {
				bound, want = start.Add(-time.Millisecond), nil
			}
			for range 20 {
				names, err := w.pollBefore("p", bound, 200)
				if failures[i] = err; err != nil {
					return
				}
				if !slices.Equal(want, names) {
					t.Errorf("a poll before %s returns %v instead of %v", bound, names, want)
					return
				}
			}
		})
	}
	group.Wait()
	for _, err := range failures {
		require.NoError(t, err)
	}
}

// BenchmarkPoll polls a pool with 5,000 scheduled runs: by one worker, and by ten at once.
func BenchmarkPoll(b *testing.B) {
	w := newWorld(b)
	w.pool("p")
	queue := w.queue("p", "q", 1)
	const batch = 500
	for range 10 {
		w.waiting(queue, batch)
		w.clock.Advance(batch * time.Second)
	}
	poll := func() {
		names, err := w.pollBefore("p", w.clock.Now(), 20)
		if err != nil || len(names) != 20 {
			b.Fatalf("%d runs, error %v", len(names), err)
		}
	}
	b.Run("alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			poll()
		}
	})
	b.Run("ten workers", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(5)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				poll()
			}
		})
	})
}
