package flowruns

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/rules"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// With far more late runs than a pass has time for, each pass ends in time, without an error, and the next goes on.
func TestAPassOverManyLateRunsEndsInTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const many = 10_000
	var runs []ScheduledRun
	for i := range many {
		key := fmt.Sprint(i)
		runs = append(runs, ScheduledRun{Flow: w.flow, RunID: w.store.NewID(), StateID: w.store.NewID(), Creation: Creation{Run: &orchv1.FlowRunCreate{
			FlowId: w.flow.GetId(), Parameters: []byte("{}"), IdempotencyKey: &key, State: &orchv1.StateCreate{
				Type: scheduled, StateDetails: rules.NewDetails(timestamppb.New(w.clock.Now().Add(-time.Hour))),
			},
		}}})
	}
	created, err := w.service.InsertScheduled(t.Context(), w.ws, runs)
	require.NoError(t, err)
	require.Equal(t, many, created)
	again, err := w.service.InsertScheduled(t.Context(), w.ws, runs)
	require.NoError(t, err)
	require.Zero(t, again, "inserting twice is once")

	total := 0
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), sweepMargin+200*time.Millisecond)
		marked, err := w.service.MarkLate(ctx)
		require.NoError(t, err)
		require.NoError(t, ctx.Err(), "it ends before its deadline")
		cancel()
		require.Positive(t, marked)
		total += marked
	}
	count, err := w.service.runs.Count(t.Context(), w.ws, store.Query{Filter: bson.D{{Key: "state.name", Value: nameLate}}})
	require.NoError(t, err)
	require.Equal(t, int64(total), count)
	states, err := w.service.States(t.Context(), w.ws, uuid.MustParse(runs[many-1].RunID.String()))
	require.NoError(t, err)
	require.NotEmpty(t, states.GetStates(), "a scheduled run has a history")
}
