package action

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/clock"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
	"github.com/orch-project/orch/services/orchestration/internal/workspacelimit"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// dueRuns stores action runs of a workspace that are due.
func dueRuns(t *testing.T, r *Runner, ws uuid.UUID, n int) {
	t.Helper()
	runs := make([]*orchv1.AutomationActionRun, n)
	for i := range runs {
		runs[i] = &orchv1.AutomationActionRun{
			Id: uuid.NewString(), Index: int32(i), TriggeredEventId: uuid.NewString(), Next: proto.Int64(noon.UnixMicro() - int64(n-i)),
		}
	}
	_, err := store.InsertAll(t.Context(), r.runs, ws, runs)
	require.NoError(t, err)
}

// However many runs of a workspace are due and hang, each other workspace begins its own at the next look.
func TestAHangingWorkspaceHidesNoOther(t *testing.T) {
	t.Parallel()
	r := New(Deps{Store: storetest.Embedded(t, clock.NewManual(noon))})
	heavy := uuid.UUID{0x80}
	others := []uuid.UUID{{0x01}, {0x7f}, {0x81}, {0xff}}
	dueRuns(t, r, heavy, 500)
	busy := workspacelimit.New(parallel, maxShare)
	begun := map[uuid.UUID]int{}
	look := func(from uuid.UUID) uuid.UUID {
		next, err := r.dispatchDue(t.Context(), from, busy, func(one store.Owned[*orchv1.AutomationActionRun]) { begun[one.Workspace]++ })
		require.NoError(t, err)
		return next
	}
	look(uuid.Nil)
	require.Equal(t, map[uuid.UUID]int{heavy: maxShare}, begun, "nothing of it ends")
	for _, ws := range others {
		dueRuns(t, r, ws, 3)
	}
	for _, from := range []uuid.UUID{uuid.Nil, heavy, {0x81}, {0xff}} {
		require.Equal(t, uuid.Nil, look(from), "all workspaces were looked at")
	}
	for _, ws := range others {
		require.Equal(t, 3, begun[ws])
	}
	require.Equal(t, maxShare, begun[heavy])
}

// Within a workspace the runs that are due for longest begin first.
func TestRunsBeginInTheOrderOfTheirTimes(t *testing.T) {
	t.Parallel()
	r := New(Deps{Store: storetest.Embedded(t, clock.NewManual(noon))})
	dueRuns(t, r, uuid.New(), 100)
	var indexes []int32
	_, err := r.dispatchDue(t.Context(), uuid.Nil, workspacelimit.New(parallel, maxShare), func(one store.Owned[*orchv1.AutomationActionRun]) {
		indexes = append(indexes, one.Message.GetIndex())
	})
	require.NoError(t, err)
	require.Equal(t, []int32{0, 1, 2, 3, 4, 5, 6, 7}, indexes)
}

// When no place is free, the next look continues with the workspaces that had none.
func TestALookContinuesWhereTheLastOneEnded(t *testing.T) {
	t.Parallel()
	r := New(Deps{Store: storetest.Embedded(t, clock.NewManual(noon))})
	const workspaces = 2 * parallel
	for i := range workspaces {
		dueRuns(t, r, uuid.UUID{byte(i / 256), byte(i), 1}, 1)
	}
	busy := workspacelimit.New(parallel, maxShare)
	var begun []store.Owned[*orchv1.AutomationActionRun]
	from := uuid.Nil
	seen := map[uuid.UUID]int{}
	for range 2 {
		begun = nil
		var err error
		from, err = r.dispatchDue(t.Context(), from, busy, func(one store.Owned[*orchv1.AutomationActionRun]) { begun = append(begun, one) })
		require.NoError(t, err)
		require.Len(t, begun, parallel)
		for _, one := range begun {
			seen[one.Workspace]++
			busy.Release(one.Workspace, one.Message.GetId())
		}
	}
	require.Len(t, seen, workspaces)
}
