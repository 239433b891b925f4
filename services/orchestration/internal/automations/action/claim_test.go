package action

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/leader"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
	"github.com/orch-project/orch/services/orchestration/internal/workspacelimit"
)

// claimWorld is one action run that is due, and a runner whose actions wait for the context to end.
type claimWorld struct {
	*Runner
	now     *clock.Manual
	ws      uuid.UUID
	waiting chan struct{} // Receives when an action waits.
}

func newClaimWorld(t *testing.T) *claimWorld {
	t.Helper()
	w := &claimWorld{now: clock.NewManual(noon), ws: uuid.New(), waiting: make(chan struct{})}
	w.Runner = New(Deps{
		Store:  storetest.Embedded(t, w.now),
		Random: func() float64 { return 0 },
		Log:    slog.New(slog.NewTextHandler(t.Output(), nil)),
		Account: func(ctx context.Context, _ uuid.UUID) (uuid.UUID, error) {
			w.waiting <- struct{}{}
			<-ctx.Done()
			return uuid.Nil, context.Cause(ctx)
		},
	})
	dueRuns(t, w.Runner, w.ws, 1)
	return w
}

// due returns the run if it is due.
func (w *claimWorld) due(t *testing.T) (found []store.Owned[*orchv1.AutomationActionRun]) {
	t.Helper()
	_, err := w.dispatchDue(t.Context(), uuid.Nil, workspacelimit.New(parallel, maxShare), func(one store.Owned[*orchv1.AutomationActionRun]) { found = append(found, one) })
	require.NoError(t, err)
	return found
}

func (w *claimWorld) take(t *testing.T) *claim {
	t.Helper()
	due := w.due(t)
	require.Len(t, due, 1)
	held, err := w.claim(t.Context(), w.ws, uuid.MustParse(due[0].Message.GetId()))
	require.NoError(t, err)
	return held
}

// A replica that dies leaves its run to another one after the lease, however often it renewed it.
func TestAClaimIsALease(t *testing.T) {
	t.Parallel()
	w := newClaimWorld(t)
	dead := w.take(t)
	for range 5 {
		w.now.Advance(leader.RenewEvery)
		require.Empty(t, w.due(t))
		held, err := dead.renew(t.Context())
		require.NoError(t, err)
		require.True(t, held)
	}
	w.now.Advance(leader.Duration - time.Microsecond)
	require.Empty(t, w.due(t))
	_, err := w.claim(t.Context(), w.ws, dead.id)
	require.ErrorIs(t, err, errTaken)
	w.now.Advance(time.Microsecond)

	second := w.take(t)
	require.EqualValues(t, 2, second.run.GetAttempts())
	held, err := dead.renew(t.Context())
	require.NoError(t, err)
	require.False(t, held)
	require.ErrorIs(t, dead.release(t.Context()), errTaken)
	require.ErrorIs(t, w.settle(t.Context(), dead, newResult().later(store.ErrNotFound)), errTaken, "it would be due again during the second execution")
	require.Empty(t, w.due(t))
}

// A process that ends releases its runs, and the attempt does not count.
func TestAnEndingProcessReleasesItsRuns(t *testing.T) {
	t.Parallel()
	w := newClaimWorld(t)
	ctx, end := context.WithCancel(t.Context())
	done, run := make(chan bool), w.due(t)[0].Message
	go func() { done <- w.execute(ctx, w.ws, run) }()
	<-w.waiting
	require.Empty(t, w.due(t))
	end()
	require.False(t, <-done)
	require.EqualValues(t, 1, w.take(t).run.GetAttempts())
}
