package concurrency

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddedmongo/mongotest"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

var ws = request.DefaultWorkspace

// replicas are services of several processes on one embedded store, with a fixed clock.
func replicas(t *testing.T, n int) ([]*Service, *clock.Manual) {
	t.Helper()
	database := mongotest.Open(t, embeddedmongo.Options{})
	now := clock.NewManual(noon)
	var services []*Service
	for i := range n {
		s := storetest.Connect(t, database, now)
		if i == 0 {
			require.NoError(t, s.EnsureIndexes(t.Context(), query.Indexes()))
		}
		services = append(services, New(NewLimits(s, vocabulary.Orch, nil)))
	}
	return services, now
}

func (s *Service) newLimit(t *testing.T, name string, slots int64) *orchv1.ConcurrencyLimitV2 {
	t.Helper()
	limit, created, err := s.upsert(t.Context(), ws, name, slots)
	require.NoError(t, err)
	require.True(t, created)
	return limit
}

func (s *Service) stored(t *testing.T, name string) *orchv1.ConcurrencyLimitV2 {
	t.Helper()
	found, err := s.limits.Find(t.Context(), ws, store.Query{Filter: named([]string{name}), Sort: byName})
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
}

// repossessed is a pass of the repossessor; it returns how many leases had slots.
func (s *Service) repossessed(t *testing.T) int {
	t.Helper()
	freed, err := s.Repossess(t.Context())
	require.NoError(t, err)
	return freed
}

const leaseTime = time.Minute

// Clients take slots of one limit or of two, and release them or disappear. There are never more holders than slots,
// and every abandoned slot is released within its lease and one period of the repossessor.
func TestNeverMoreHoldersThanSlots(t *testing.T) {
	t.Parallel()
	const slots, clients, rounds = 3, 64, 4
	services, now := replicas(t, 2)
	services[0].newLimit(t, "a", slots)
	services[0].newLimit(t, "b", slots+2)

	var holding [2]atomic.Int64
	var abandoned atomic.Int64
	names := [][]string{{"a"}, {"b"}, {"a", "b"}, {"b", "nothing", "a"}}
	client := func(i int) error {
		s := services[i%len(services)]
		random := rand.New(rand.NewPCG(uint64(i), 7))
		for range rounds {
			requested := names[random.IntN(len(names))]
			lease := &Lease{ID: uuid.New(), Duration: leaseTime}
			taken, err := s.Acquire(t.Context(), ws, Acquisition{Names: requested, Slots: 1, Lease: lease})
			var full *FullError
			if errors.As(err, &full) || errors.Is(err, store.ErrContention) {
				continue
			}
			if err != nil {
				return err
			}
			for _, limit := range taken {
				which := int(limit.GetName()[0] - 'a')
				if n := holding[which].Add(1); n > limit.GetLimit() {
					return errors.New("more holders than slots")
				}
			}
			if abandoned.Load() < slots-1 && random.IntN(4) == 0 {
				abandoned.Add(1) // It died: its slots stay taken until the lease expires.
				continue
			}
			for _, limit := range taken {
				holding[limit.GetName()[0]-'a'].Add(-1)
			}
			for {
				if err := s.Release(t.Context(), ws, lease.ID); !errors.Is(err, store.ErrContention) {
					if err != nil {
						return err
					}
					break
				}
			}
		}
		return nil
	}
	ended := make([]error, clients)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() { ended[i] = client(i) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(ended...))

	for i, name := range []string{"a", "b"} {
		limit := services[0].stored(t, name)
		require.Equal(t, holding[i].Load(), limit.GetActiveSlots(), "what was left behind is taken")
		require.Equal(t, limit.GetActiveSlots(), slotsOf(limit.GetHolders()))
	}
	now.Advance(leaseTime - time.Microsecond)
	services[0].repossessed(t)
	require.Equal(t, holding[0].Load(), services[0].stored(t, "a").GetActiveSlots(), "not before the lease is over")
	now.Advance(time.Microsecond)
	ends := make([]error, len(services))
	for i, s := range services {
		wg.Go(func() { _, ends[i] = s.Repossess(t.Context()) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(ends...))
	for _, name := range []string{"a", "b"} {
		limit := services[0].stored(t, name)
		require.Zero(t, limit.GetActiveSlots())
		require.Empty(t, limit.GetHolders())
	}
}

// Slots taken before the full limit are released.
func TestAllOrNothing(t *testing.T) {
	t.Parallel()
	services, now := replicas(t, 1)
	s := services[0]
	s.newLimit(t, "a", 2)
	s.newLimit(t, "b", 1)
	_, err := s.Acquire(t.Context(), ws, Acquisition{Names: []string{"b"}, Slots: 1})
	require.NoError(t, err)
	for _, lease := range []*Lease{nil, {ID: uuid.New(), Duration: leaseTime}} {
		_, err = s.Acquire(t.Context(), ws, Acquisition{Names: []string{"b", "a"}, Slots: 1, Lease: lease})
		var full *FullError
		require.ErrorAs(t, err, &full)
		require.Positive(t, full.Wait)
		require.Zero(t, s.stored(t, "a").GetActiveSlots())
		require.Empty(t, s.stored(t, "a").GetHolders())
	}
	require.Equal(t, int64(2), s.stored(t, "b").GetDeniedSlots())
	_, err = s.Decrement(t.Context(), ws, []string{"b"}, 5, nil)
	require.NoError(t, err)
	require.Zero(t, s.stored(t, "b").GetActiveSlots(), "never below nothing")
	now.Advance(time.Minute) // The slot was reserved for those that were refused.
	_, err = s.Acquire(t.Context(), ws, Acquisition{Names: []string{"b", "a"}, Slots: 1})
	require.NoError(t, err)
	require.Equal(t, int64(1), s.stored(t, "a").GetActiveSlots())
	require.Empty(t, s.stored(t, "a").GetHolders(), "by count: nothing expires")
}

func TestRenewalAndRepossession(t *testing.T) {
	t.Parallel()
	services, now := replicas(t, 1)
	s := services[0]
	s.newLimit(t, "a", 1)
	lease := &Lease{ID: uuid.New(), Duration: leaseTime}
	_, err := s.Acquire(t.Context(), ws, Acquisition{Names: []string{"a"}, Slots: 1, Lease: lease})
	require.NoError(t, err)
	now.Advance(leaseTime - time.Second)
	require.NoError(t, s.Renew(t.Context(), ws, lease.ID, leaseTime))
	now.Advance(leaseTime - time.Second)
	s.repossessed(t)
	require.Equal(t, int64(1), s.stored(t, "a").GetActiveSlots())
	now.Advance(time.Second)
	s.repossessed(t)
	require.Zero(t, s.stored(t, "a").GetActiveSlots())
	require.ErrorIs(t, s.Renew(t.Context(), ws, lease.ID, leaseTime), ErrLeaseGone)
	require.NoError(t, s.Release(t.Context(), ws, lease.ID))
	require.Zero(t, s.stored(t, "a").GetActiveSlots())

	// A lease without slots is a lease all the same.
	empty := &Lease{ID: uuid.New(), Duration: leaseTime}
	taken, err := s.Acquire(t.Context(), ws, Acquisition{Names: []string{"unknown"}, Slots: 1, Lease: empty})
	require.NoError(t, err)
	require.Empty(t, taken)
	require.NoError(t, s.Renew(t.Context(), ws, empty.ID, leaseTime))
	now.Advance(leaseTime)
	s.repossessed(t)
	require.ErrorIs(t, s.Renew(t.Context(), ws, empty.ID, leaseTime), ErrLeaseGone)
}

// A limit that was inactive when a lease began is no part of the lease: its end takes nothing from those who hold slots now.
func TestLeasesLeaveOutInactiveLimits(t *testing.T) {
	t.Parallel()
	for name, expires := range map[string]bool{"released": false, "expired": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			services, now := replicas(t, 1)
			s := services[0]
			s.newLimit(t, "open", 2)
			inactive := s.newLimit(t, "inactive", 2)
			activate := func(active bool) {
				_, err := s.mutate(t.Context(), ws, inactive.GetId(), func(limit *orchv1.ConcurrencyLimitV2) (bool, error) {
					limit.Active = active
					return true, nil
				})
				require.NoError(t, err)
			}
			activate(false)
			lease := &Lease{ID: uuid.New(), Duration: leaseTime}
			_, err := s.Acquire(t.Context(), ws, Acquisition{Names: []string{"open", "inactive"}, Slots: 1, Lease: lease})
			require.NoError(t, err)
			activate(true)
			_, err = s.Acquire(t.Context(), ws, Acquisition{Names: []string{"inactive"}, Slots: 2})
			require.NoError(t, err)
			if expires {
				now.Advance(2 * leaseTime)
				s.repossessed(t)
			} else {
				require.NoError(t, s.Release(t.Context(), ws, lease.ID))
			}
			require.Zero(t, s.stored(t, "open").GetActiveSlots())
			require.EqualValues(t, 2, s.stored(t, "inactive").GetActiveSlots())
		})
	}
}

// A slot without a lease stays taken until its holder releases it.
func TestKeptSlots(t *testing.T) {
	t.Parallel()
	services, now := replicas(t, 1)
	s := services[0]
	s.newLimit(t, "a", 1)
	run := uuid.New()
	lease := &Lease{ID: uuid.New(), Duration: leaseTime, Holder: &orchv1.ConcurrencyLeaseHolder{Type: taskRun, Id: run.String()}}
	_, err := s.Acquire(t.Context(), ws, Acquisition{Names: []string{"a"}, Slots: 1, Lease: lease})
	require.NoError(t, err)
	require.NoError(t, s.Keep(t.Context(), ws, lease.ID))
	require.ErrorIs(t, s.Renew(t.Context(), ws, lease.ID, leaseTime), ErrLeaseGone)
	now.Advance(time.Hour)
	s.repossessed(t)
	require.Equal(t, int64(1), s.stored(t, "a").GetActiveSlots())
	_, err = s.ReleaseHolder(t.Context(), ws, []string{"a"}, taskRun, run)
	require.NoError(t, err)
	require.Zero(t, s.stored(t, "a").GetActiveSlots())
}
