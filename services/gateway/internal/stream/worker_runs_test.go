package stream

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/feeds"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func TestRunsAreDeliveredWhenTheyAreDue(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	run := func(id, state string, start time.Time) *orchv1.WorkerFlowRunResponse {
		return &orchv1.WorkerFlowRunResponse{FlowRun: &orchv1.WorkerFlowRun{Id: id, StateId: &state, NextScheduledStartTime: timestamppb.New(start)}}
	}
	var d dueRuns
	ids := func(polled ...*orchv1.WorkerFlowRunResponse) ([]string, time.Duration) {
		due, next := d.take(polled, now)
		var names []string
		for _, one := range due {
			names = append(names, one.GetFlowRun().GetId())
		}
		return names, next.Sub(now)
	}
	soon := run("soon", "1", now.Add(3*time.Second))
	past := run("past", "1", now.Add(-time.Hour))
	due, wait := ids()
	require.Empty(t, due)
	require.Equal(t, feeds.RunsAhead, wait)
	due, wait = ids(past, soon, run("later", "1", now.Add(9*time.Second)))
	require.Equal(t, []string{"past"}, due)
	require.Equal(t, 3*time.Second, wait, "the poll is at the start of the next run")
	now = now.Add(wait)
	due, wait = ids(past, soon)
	require.Equal(t, []string{"soon"}, due, "each run once")
	require.Equal(t, feeds.RunsAhead, wait)
	due, _ = ids(run("past", "2", now), soon)
	require.Equal(t, []string{"past"}, due, "again with its next state")
	due, _ = ids()
	require.Empty(t, due)
	due, _ = ids(soon)
	require.Equal(t, []string{"soon"}, due, "it was taken, and waits again")
}
