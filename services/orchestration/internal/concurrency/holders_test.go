package concurrency

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/testkit"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

// A limit with as many holders as its document has room for refuses further ones with the bound, and takes them after a release. It can
// be deleted, which carries its holders in the same document.
func TestALimitRefusesHoldersBeyondItsDocument(t *testing.T) {
	t.Parallel()
	l := NewLimits(storetest.Embedded(t, clock.System{}), vocabulary.Orch, nil)
	limit := &orchv1.ConcurrencyLimitV2{Id: uuid.NewString(), Name: "crowded", Active: true, Limit: 1_000_000, ActiveSlots: MaxHolders}
	holder := func() *orchv1.ConcurrencySlotHolder {
		return &orchv1.ConcurrencySlotHolder{
			LeaseId: uuid.NewString(), Slots: 1, Since: timestamppb.Now(), Expires: timestamppb.New(time.Now().Add(time.Hour)),
			Holder: &orchv1.ConcurrencyLeaseHolder{Type: taskRun, Id: uuid.NewString()},
		}
	}
	for range MaxHolders - 1 {
		limit.Holders = append(limit.Holders, holder())
	}
	require.NoError(t, l.limits.Insert(t.Context(), ws, limit))
	acquire := func() (uuid.UUID, error) {
		lease := &Lease{ID: uuid.New(), Duration: time.Hour, Holder: holder().GetHolder()}
		_, err := l.Acquire(t.Context(), ws, Acquisition{Names: []string{"crowded"}, Slots: 1, Lease: lease})
		return lease.ID, err
	}
	var last uuid.UUID
	var refused error
	testkit.FillBound(t, "a concurrency limit with its holders", maxLimitBytes, func() bool {
		lease, err := acquire()
		if refused = err; err == nil {
			last = lease
		}
		return err != nil
	}, func() int {
		raw, err := store.GetRaw(t.Context(), l.limits, ws, uuid.MustParse(limit.GetId()))
		require.NoError(t, err)
		return len(raw)
	})
	full := &FullError{}
	require.ErrorAs(t, refused, &full)
	require.True(t, full.Holders)
	require.GreaterOrEqual(t, full.Wait, time.Second)
	require.ErrorContains(t, translate(refused), "40000 holders, which is the maximum")

	require.NoError(t, l.Release(t.Context(), ws, last))
	_, err := acquire()
	require.NoError(t, err)

	require.NoError(t, l.delete(t.Context(), ws, limit.GetId(), always))
	found, err := l.limits.Find(t.Context(), ws, store.Query{Sort: byName})
	require.NoError(t, err)
	require.Empty(t, found)
}
