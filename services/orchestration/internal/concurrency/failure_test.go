package concurrency

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// losing is a service whose n-th write of a limit succeeds, but its response is lost.
func losing(t *testing.T) (*Service, *atomic.Int64) {
	t.Helper()
	server, err := embeddedmongo.Open(t.TempDir(), embeddedmongo.Options{NoSync: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	var n atomic.Int64
	s, err := store.Open(t.Context(), store.Config{
		URI: server.URI(), Database: "orch", Dialer: server.ContextDialer(), Clock: clock.NewManual(noon), IDs: id.System(),
		Client: func(o *options.ClientOptions) { o.SetRetryWrites(false) },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
	require.NoError(t, s.EnsureIndexes(t.Context(), query.Indexes()))
	limits := NewLimits(s, vocabulary.Orch, nil)
	limits.written = func() error {
		if n.Add(-1) == 0 {
			return store.ErrUnavailable
		}
		return nil
	}
	return New(limits), &n
}

// A failure at any write of an acquisition, with the write done and its response lost, leaves no slot taken. In an
// acquisition by count no holder would remain that could expire (findings 2 and 3).
func TestAnAcquisitionThatFailsTakesNothing(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{{"a"}, {"a", "b"}} {
		for write := range int64(2 * len(names)) {
			s, lost := losing(t)
			for _, name := range names {
				s.newLimit(t, name, 2)
			}
			lost.Store(write + 1)
			_, err := s.Acquire(t.Context(), ws, Acquisition{Names: names, Slots: 1})
			require.ErrorIs(t, err, store.ErrUnavailable, "write %d of %v", write, names)
			for _, name := range names {
				limit := s.stored(t, name)
				require.Zero(t, limit.GetActiveSlots(), "%s after write %d of %v", name, write, names)
				require.Empty(t, limit.GetHolders(), "%s after write %d of %v", name, write, names)
			}
		}
	}
}

// Concurrent increments of one task run take one slot: the write that takes the slot decides whether the run already
// has one (finding 4).
func TestATaskRunTakesOneSlotHoweverOftenItAsks(t *testing.T) {
	t.Parallel()
	services, _ := replicas(t, 2)
	services[0].newLimit(t, tagPrefix+"gpu", 2)
	run := uuid.New()
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			_, _, err := services[i%2].AcquireForTaskRun(t.Context(), ws, []string{"gpu"}, run, 0, 0)
			if err != nil && !errors.Is(err, store.ErrContention) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	limit := services[0].stored(t, tagPrefix+"gpu")
	require.EqualValues(t, 1, limit.GetActiveSlots())
	require.Len(t, limit.GetHolders(), 1)
}
