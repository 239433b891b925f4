package flowruns

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// stuckHeads stores runs that wait longest and are never changed, and one behind them that can be.
func (w *world) stuckHeads(n int) (last *orchv1.FlowRun, filter bson.D, propose sweptProposal) {
	w.Helper()
	plan := func(name string, at time.Time) *orchv1.FlowRun {
		return w.run(func(c *orchv1.FlowRunCreate) {
			c.Name = name
			c.State = &orchv1.StateCreate{
				Type: scheduled, Name: new(nameScheduled), StateDetails: &orchv1.StateDetails{ScheduledTime: timestamppb.New(at)},
			}
		})
	}
	for range n {
		plan("stuck", w.clock.Now())
	}
	last = plan("last", w.clock.Now().Add(time.Second))
	return last, bson.D{{Key: "state.name", Value: nameScheduled}}, proposing(func(current *orchv1.FlowRun) *orchv1.StateCreate {
		if current.GetName() == "stuck" {
			return nil
		}
		return &orchv1.StateCreate{Type: scheduled, Name: new(nameLate)}
	})
}

func TestRunsThatCannotBeChangedDoNotHoldUpThoseBehindThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	last, filter, propose := w.stuckHeads(sweepBatch + 1)
	changed, err := lateSweep().pass(t.Context(), w.service, filter, propose)
	require.NoError(t, err)
	require.Equal(t, 1, changed)
	require.Equal(t, nameLate, w.state(last).GetName())
}

// endsSoon is a context whose deadline is always near and never over.
type endsSoon struct{ context.Context }

func (endsSoon) Deadline() (time.Time, bool) {
	return time.Now().Add(sweepMargin - time.Millisecond), true
}

// Each pass has time for one run only, and the stuck ones have the same time.
func TestAPassThatEndsEarlyIsContinued(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const stuck = 5
	last, filter, propose := w.stuckHeads(stuck)
	sweep := lateSweep()
	ctx := endsSoon{t.Context()}
	for range stuck {
		changed, err := sweep.pass(ctx, w.service, filter, propose)
		require.NoError(t, err)
		require.Zero(t, changed)
	}
	changed, err := sweep.pass(ctx, w.service, filter, propose)
	require.NoError(t, err)
	require.Equal(t, 1, changed)
	require.Equal(t, nameLate, w.state(last).GetName())
	// Behind the last run it starts anew.
	_, err = sweep.pass(t.Context(), w.service, filter, propose)
	require.NoError(t, err)
	require.True(t, sweep.from.IsZero())
}
