package runs_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/clock"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/runs"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

// A state is found exactly once from the moment that it is stored, whether its row is still in the outbox or not.
func TestAStateIsFoundBeforeAndAfterItsRowIsWritten(t *testing.T) {
	t.Parallel()
	s := storetest.Embedded(t, clock.System{})
	log := runs.History[*orchv1.FlowRun, *orchv1.FlowRunStateRecord]{
		Runs: store.NewCollection(s, query.FlowRun, &orchv1.FlowRun{}),
		Rows: store.NewCollection(s, query.FlowRunState, &orchv1.FlowRunStateRecord{}),
		Kind: "row", RunField: "flow_run_id",
	}
	ctx, ws, run, flow := t.Context(), uuid.New(), uuid.New(), uuid.NewString()
	var effects []store.Effect
	var ids []uuid.UUID
	for n := range 2 {
		id := uuid.New()
		at := timestamppb.New(time.Date(2026, 1, 2-n, 0, 0, 0, 0, time.UTC)) // The later one is stored first.
		e, err := store.MessageEffect(log.Kind, id, time.Now(), ws, &orchv1.FlowRunStateRecord{
			Id: id.String(), FlowRunId: run.String(), RunRevision: int64(n + 1), Timestamp: at, State: &orchv1.State{Id: id.String(), Timestamp: at},
		})
		require.NoError(t, err)
		effects, ids = append(effects, e), append(ids, id)
	}
	require.NoError(t, log.Runs.Insert(ctx, ws, &orchv1.FlowRun{Id: run.String(), FlowId: flow}, effects...))
	found := func() {
		list, err := log.Of(ctx, ws, run)
		require.NoError(t, err)
		require.Len(t, list.GetStates(), 2)
		require.Equal(t, ids[1].String(), list.GetStates()[0].GetId(), "oldest first")
		for _, id := range ids {
			state, err := log.Get(ctx, ws, id)
			require.NoError(t, err)
			require.Equal(t, id.String(), state.GetId())
			_, err = log.Get(ctx, uuid.New(), id)
			require.ErrorIs(t, err, store.ErrNotFound, "a state of another workspace")
		}
		elsewhere, err := log.Of(ctx, uuid.New(), run)
		require.NoError(t, err)
		require.Empty(t, elsewhere.GetStates())
	}
	found()
	require.NoError(t, log.Write(ctx, effects[:1]))
	found() // Both in the outbox, one of them written as well.
	require.NoError(t, log.Write(ctx, effects))
	require.NoError(t, s.Done(ctx, query.FlowRun, store.Outbox{DocumentKey: store.DocumentKey{Workspace: ws, ID: run}, Effects: effects}))
	found()
	require.NoError(t, log.Forget(ctx, ws, run))
	_, err := log.Get(ctx, ws, ids[0])
	require.ErrorIs(t, err, store.ErrNotFound)
	_, err = log.OfRun(ctx, ws, run, ids[0])
	require.ErrorIs(t, err, store.ErrNotFound)
}
