package engine

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
)

// A write fails after it stored a window. The same events are evaluated again, and are duplicates now, so they write nothing.
// Without its timer, the window would end with the next term only.
func TestAWindowOfAFailedWriteHasATimer(t *testing.T) {
	t.Parallel()
	c, ws := newCrowd(t), uuid.New()
	require.NoError(t, c.prepare(t.Context()))
	window := func(due int64) *trigger.Record {
		id := uuid.New()
		return &trigger.Record{Workspace: ws, ID: id, Bucket: &orchv1.AutomationBucket{
			Id: id.String(), AutomationId: uuid.NewString(), TriggerId: uuid.NewString(), Due: &due,
		}}
	}
	stored, stale := window(5), window(7)
	require.NoError(t, c.Save(t.Context(), []*trigger.Record{stale}))
	require.Equal(t, 1, c.timers.size())
	stale.Stored = proto.CloneOf(stale.Bucket)
	stale.Revision = 9 // Another replica changed it.
	require.ErrorIs(t, c.Save(t.Context(), []*trigger.Record{stored, stale}), trigger.ErrConflict)

	for range 2 {
		found, err := c.Load(t.Context(), ws, []uuid.UUID{stored.ID})
		require.NoError(t, err)
		require.Len(t, found, 1, "the write was applied in part")
		require.Equal(t, 2, c.timers.size())
	}
	due, _ := c.timers.take(5, 10)
	require.Len(t, due, 1)
	require.Equal(t, stored.ID, due[0].bucket)
	_, err := c.Load(t.Context(), ws, []uuid.UUID{stored.ID})
	require.NoError(t, err)
	require.Equal(t, 1, c.timers.size(), "a read sets a timer once: the clock is looked at meanwhile")
}
