package workspaceshare_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/workspaceshare"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestReadsOfAWorkspaceAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := workspaceshare.New(workspaceshare.Bounds{Max: 2, Queue: 2, Wait: time.Second})
		ws, other := uuid.New(), uuid.New()
		begin := func(ws uuid.UUID) func() {
			end, err := g.Begin(t.Context(), ws)
			require.NoError(t, err)
			return end
		}
		first, second := begin(ws), begin(ws)
		begin(other)() // Another workspace has a share of its own.

		order := make(chan int, 2)
		ends := make(chan func(), 2)
		for i := range 2 {
			go func() {
				end, err := g.Begin(t.Context(), ws)
				if err == nil {
					order <- i
					ends <- end
				}
			}()
			synctest.Wait()
		}
		_, err := g.Begin(t.Context(), ws)
		require.ErrorIs(t, err, workspaceshare.ErrBusy, "the queue is full")

		first()
		require.Equal(t, 0, <-order, "the oldest comes first")
		second()
		require.Equal(t, 1, <-order)
		(<-ends)()
		(<-ends)()
		begin(ws)()
	})
}

func TestReadsThatWaitTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := workspaceshare.New(workspaceshare.Bounds{Max: 1, Queue: 5, Wait: time.Second})
		ws := uuid.New()
		end, err := g.Begin(t.Context(), ws)
		require.NoError(t, err)
		began := time.Now()
		_, err = g.Begin(t.Context(), ws)
		require.ErrorIs(t, err, workspaceshare.ErrBusy)
		require.Equal(t, time.Second, time.Since(began))

		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err = g.Begin(ctx, ws)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		end()
		again, err := g.Begin(t.Context(), ws)
		require.NoError(t, err, "reads that waited no longer left no trace")
		again()
	})
}
