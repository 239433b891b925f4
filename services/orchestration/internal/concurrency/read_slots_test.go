package concurrency

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid/requesttest"
)

// Holders are shown with their age, the longest first; slots that were taken by count have none.
func TestReadConcurrencyLimitSlots(t *testing.T) {
	t.Parallel()
	services, now := replicas(t, 1)
	s := services[0]
	s.newLimit(t, "a", 4)
	first, second := applicantOf(uuid.New(), "a"), applicantOf(uuid.Nil, "a")
	require.True(t, first.request(t, s))
	now.Advance(time.Minute)
	require.True(t, second.request(t, s))
	_, err := s.Acquire(t.Context(), ws, Acquisition{Names: []string{"a"}, Slots: 2})
	require.NoError(t, err)
	waiter := applicantOf(uuid.New(), "a")
	require.False(t, waiter.request(t, s))
	_, _, err = s.upsert(t.Context(), ws, "a", 1)
	require.NoError(t, err)
	read := func() *orchv1.ConcurrencyLimitSlots {
		slots, err := s.ReadConcurrencyLimitSlots(requesttest.Incoming(t, ws), &orchv1.ReadConcurrencyLimitSlotsRequest{IdOrName: "a"})
		require.NoError(t, err)
		return slots
	}
	slots := read()
	require.EqualValues(t, 1, slots.GetLimit())
	require.EqualValues(t, 4, slots.GetActiveSlots())
	require.EqualValues(t, 2, slots.GetSlotsWithoutLease())
	require.EqualValues(t, 2, slots.GetHolderCount())
	require.Equal(t, first.acquisition.Lease.Holder.GetId(), slots.GetHolders()[0].GetHolder().GetId())
	require.InDelta(t, 60, slots.GetHolders()[0].GetAge(), 1e-9)
	require.Nil(t, slots.GetHolders()[1].GetHolder())
	require.EqualValues(t, 1, slots.GetWaiterCount())
	require.Equal(t, waiter.acquisition.Lease.Holder.GetId(), slots.GetWaiters()[0].GetHolder().GetId())
	now.Advance(waiter.refused + maxReservation)
	require.Empty(t, read().GetWaiters())
}
