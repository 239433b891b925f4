package leader_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/services/orchestration/internal/leader"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

type world struct {
	*testing.T
	clock *clock.Manual
	store *store.Store
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c := clock.NewManual(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	return &world{t, c, storetest.New(t, c)}
}

// replica is a task that counts its executions.
type replica struct {
	*leader.Task
	done int
	fail error
}

func (w *world) replica(name string, every time.Duration) *replica {
	r := &replica{}
	r.Task = leader.NewTask(w.store, name, every, slog.New(slog.DiscardHandler), func(ctx context.Context) error {
		deadline, ok := ctx.Deadline()
		require.True(w, ok, "a task is bounded")
		require.LessOrEqual(w, time.Until(deadline), leader.Limit)
		r.done++
		return r.fail
	})
	return r
}

func TestOneReplicaDoesATask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b, other := w.replica("late", 5*time.Second), w.replica("late", 5*time.Second), w.replica("pauses", 5*time.Second)
	for range 10 {
		a.Tick(t.Context())
		b.Tick(t.Context())
		other.Tick(t.Context())
		w.clock.Advance(5 * time.Second)
	}
	require.Equal(t, []int{10, 0, 10}, []int{a.done, b.done, other.done}, "a renewed lease stays, and each name is its own")

	// The holder is gone: the other replica takes over when the lease expires, and not before.
	a.done = 0
	for range 2 {
		b.Tick(t.Context())
		require.Zero(t, b.done)
		w.clock.Advance(5 * time.Second)
	}
	b.Tick(t.Context())
	require.Equal(t, 1, b.done)
	a.Tick(t.Context())
	require.Zero(t, a.done, "who comes back late finds it taken")
}

func TestATaskKeepsItsPeriod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.replica("clean-up", 20*time.Second)
	r.fail = errors.New("no")
	for range 13 {
		r.Tick(t.Context())
		w.clock.Advance(5 * time.Second)
	}
	require.Equal(t, 4, r.done, "at 0, 20, 40 and 60 seconds, whether or not it fails")
}

// The next tick comes when the task is due. Ticks at a fixed rate came up to their jitter too early, so about half of the
// executions of a short period were left out.
func TestATickComesWhenTheTaskIsDue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	short, long := w.replica("scheduler", 500*time.Millisecond), w.replica("clean-up", 12*time.Second)
	other := w.replica("scheduler", 500*time.Millisecond)
	for range 5 {
		short.Tick(t.Context())
		w.clock.Advance(100 * time.Millisecond) // The time that the execution takes.
		require.Equal(t, 400*time.Millisecond, short.Pause())
		w.clock.Advance(short.Pause())
	}
	require.Equal(t, 5, short.done)
	long.Tick(t.Context())
	for range 3 {
		w.clock.Advance(long.Pause())
		long.Tick(t.Context())
	}
	require.Equal(t, 2, long.done, "at 0 and 12 seconds, after ticks that renew the lease")
	other.Tick(t.Context())
	require.Equal(t, 500*time.Millisecond, other.Pause(), "another replica has the lease")
}

// TestAClockThatStepsBackSuspendsNoTask: the holder of a lease did nothing until its clock was again where it had been, and no other
// replica could take over.
func TestAClockThatStepsBackSuspendsNoTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	holder, other := w.replica("late", 5*time.Second), w.replica("late", 5*time.Second)
	holder.Tick(t.Context())
	w.clock.Advance(-time.Hour)
	holder.Tick(t.Context())
	require.Equal(t, 2, holder.done, "the holder goes on")

	w.clock.Advance(-time.Hour)
	other.Tick(t.Context())
	require.Equal(t, 1, other.done, "a lease that nobody can have asked for has ended")
	w.clock.Advance(5 * time.Second)
	holder.Tick(t.Context())
	require.Equal(t, 2, holder.done, "the lease of the other replica holds")
}

// TestATaskOutlastsATerm: a task that takes longer than a term is not interrupted, and no other replica executes it.
func TestATaskOutlastsATerm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ticks, visited := make(chan time.Time), 0
	other := w.replica("long", time.Minute)
	long := leader.NewTask(w.store, "long", time.Minute, slog.New(slog.DiscardHandler), func(ctx context.Context) error {
		for range 1000 { // Workspaces, each of which takes a while.
			if visited++; visited%100 == 0 {
				w.clock.Advance(leader.Duration - time.Second)
				ticks <- time.Now()
				ticks <- time.Now() // The first renewal is over.
				other.Tick(ctx)
			}
			require.NoError(t, ctx.Err())
		}
		return nil
	})
	long.RenewOn(ticks)
	long.Tick(t.Context())
	require.Equal(t, 1000, visited)
	require.Zero(t, other.done)
}

func TestATaskEndsWithItsLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ticks := make(chan time.Time)
	other := w.replica("long", time.Minute)
	long := leader.NewTask(w.store, "long", time.Minute, slog.New(slog.DiscardHandler), func(ctx context.Context) error {
		w.clock.Advance(leader.Duration + time.Second)
		other.Tick(t.Context())
		ticks <- time.Now()
		<-ctx.Done()
		return ctx.Err()
	})
	long.RenewOn(ticks)
	long.Tick(t.Context())
	require.Equal(t, 1, other.done)
	w.clock.Advance(leader.RenewEvery)
	require.Equal(t, leader.RenewEvery, long.Pause(), "the other replica has the lease")
}

func TestALeaseEndsWithItsWorker(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.replica("late", time.Hour), w.replica("late", time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	a.Tick(ctx)
	cancel()
	require.NoError(t, a.Run(ctx))
	b.Tick(t.Context())
	require.Equal(t, 1, b.done, "the next one need not wait")
}
