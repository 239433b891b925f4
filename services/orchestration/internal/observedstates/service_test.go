package observedstates

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/testkit"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// state is a state at so many minutes after noon.
func state(kind orchv1.StateType, name string, minutes int) *orchv1.State {
	at := timestamppb.New(noon.Add(time.Duration(minutes) * time.Minute))
	return &orchv1.State{Id: uuid.NewString(), Type: kind, Name: &name, Timestamp: at}
}

func TestReadObservedStates(t *testing.T) {
	t.Parallel()
	s, ws := New(storetest.New(t, clock.System{})), uuid.New()
	const completed, failed, scheduled = orchv1.StateType_STATE_TYPE_COMPLETED, orchv1.StateType_STATE_TYPE_FAILED, orchv1.StateType_STATE_TYPE_SCHEDULED
	for _, one := range []*orchv1.State{state(completed, "Completed", 1), state(completed, "Completed", 3), state(completed, "Cached", 2), state(scheduled, "Late", 0)} {
		require.NoError(t, s.flowRuns.Insert(t.Context(), ws, &orchv1.FlowRunStateRecord{
			Id: one.GetId(), FlowRunId: uuid.NewString(), RunRevision: 1, Timestamp: one.GetTimestamp(), State: one,
		}))
	}
	for _, one := range []*orchv1.State{state(completed, "Completed", 7), state(failed, "Failed", 5)} {
		require.NoError(t, s.taskRuns.Insert(t.Context(), ws, &orchv1.TaskRunStateRecord{
			Id: one.GetId(), TaskRunId: uuid.NewString(), Timestamp: one.GetTimestamp(), State: one,
		}))
	}
	other := state(failed, "Elsewhere", 9)
	require.NoError(t, s.flowRuns.Insert(t.Context(), uuid.New(), &orchv1.FlowRunStateRecord{
		Id: other.GetId(), FlowRunId: uuid.NewString(), RunRevision: 1, Timestamp: other.GetTimestamp(), State: other,
	}))
	const byName, byTime = orchv1.ObservedStateSort_OBSERVED_STATE_SORT_NAME_ASC, orchv1.ObservedStateSort_OBSERVED_STATE_SORT_LAST_SEEN_DESC
	for name, c := range map[string]struct {
		prefix string
		order  orchv1.ObservedStateSort
		limit  int64
		want   []string
	}{
		"latest first":       {"", byTime, 10, []string{"Completed", "Failed", "Cached", "Late"}},
		"by type and name":   {"", byName, 10, []string{"Cached", "Completed", "Failed", "Late"}},
		"first ones":         {"", byTime, 2, []string{"Completed", "Failed"}},
		"prefix of a type":   {" comp", byName, 10, []string{"Cached", "Completed"}},
		"prefix of a name":   {"LA", byName, 10, []string{"Late"}},
		"prefix of no state": {"x", byName, 10, nil},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := s.ReadObservedStates(requesttest.Incoming(t, ws), &orchv1.ReadObservedStatesRequest{
				Query: &c.prefix, OrderBy: c.order, Limit: c.limit,
			})
			require.NoError(t, err)
			var got []string
			for _, one := range list.GetStates() {
				got = append(got, one.GetStateName())
				if one.GetStateName() == "Completed" {
					require.Equal(t, noon.Add(time.Minute), one.GetFirstSeen().AsTime(), "the earliest of both histories")
					require.Equal(t, noon.Add(7*time.Minute), one.GetLastSeen().AsTime(), "the latest of both histories")
				}
			}
			require.Equal(t, c.want, got)
		})
	}
}
