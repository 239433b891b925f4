package concurrency

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/store/storetest"
)

// applicant is a client that requests a slot of each limit until it has them.
type applicant struct {
	acquisition Acquisition
	refused     time.Duration // Retry-After of the last response.
}

func applicantOf(id uuid.UUID, names ...string) *applicant {
	var holder *orchv1.ConcurrencyLeaseHolder
	if id != uuid.Nil {
		holder = &orchv1.ConcurrencyLeaseHolder{Type: taskRun, Id: id.String()}
	}
	return &applicant{acquisition: Acquisition{Names: names, Slots: 1, Lease: &Lease{ID: uuid.New(), Duration: time.Hour, Holder: holder}}}
}

// request reports whether the client has its slots.
func (a *applicant) request(t *testing.T, s *Service) bool {
	t.Helper()
	_, err := s.Acquire(t.Context(), ws, a.acquisition)
	if full, ok := errors.AsType[*FullError](err); ok {
		a.refused = full.Wait
		return false
	}
	require.NoError(t, err)
	return true
}

func (a *applicant) release(t *testing.T, s *Service) {
	t.Helper()
	require.NoError(t, s.Release(t.Context(), ws, a.acquisition.Lease.ID))
}

// Clients that have returned once get slots in the order in which they were first refused, from two replicas, with a holder or recognised
// by the time of their return.
func TestSlotsAreServedInTheOrderOfWaiting(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]func() uuid.UUID{"holders": uuid.New, "connections": func() uuid.UUID { return uuid.Nil }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			services, now := replicas(t, 2)
			services[0].newLimit(t, "a", 2)
			var holders, waiting []*applicant
			returns := map[*applicant]time.Time{}
			for i := range 24 {
				a := applicantOf(id(), "a")
				a.acquisition.Connection = fmt.Sprint(i)
				if a.request(t, services[i%2]) {
					holders = append(holders, a)
					continue
				}
				returns[a] = now.Now().Add(a.refused)
				waiting = append(waiting, a)
				now.Advance(time.Millisecond)
			}
			require.Len(t, holders, 2)
			var served []*applicant
			returned := map[*applicant]bool{}
			for i := 0; len(served) < len(waiting); i++ {
				require.Less(t, i, 10_000)
				if len(returned) == len(waiting) && len(holders) == 2 && i%8 == 0 { // Of two free slots, each of the first two clients gets one.
					holders[0].release(t, services[i%2])
					holders = holders[1:]
				}
				var next *applicant
				for _, a := range waiting {
					if at, ok := returns[a]; ok && (next == nil || at.Before(returns[next])) {
						next = a
					}
				}
				now.Advance(returns[next].Sub(now.Now()) + time.Millisecond)
				if next.request(t, services[i%2]) {
					delete(returns, next)
					served, holders = append(served, next), append(holders, next)
					continue
				}
				returned[next] = true
				returns[next] = now.Now().Add(next.refused)
			}
			for i, a := range served {
				require.Same(t, waiting[i], a, "the client that was served as number %d", i)
			}
			require.Empty(t, services[0].stored(t, "a").GetWaiters())
		})
	}
}

// A free slot is reserved for a client that has returned, until shortly after its next return was due; a newcomer then gets it.
func TestAReservationEnds(t *testing.T) {
	t.Parallel()
	services, now := replicas(t, 1)
	s := services[0]
	s.newLimit(t, "a", 1)
	holder, lost, newcomer := applicantOf(uuid.New(), "a"), applicantOf(uuid.New(), "a"), applicantOf(uuid.New(), "a")
	require.True(t, holder.request(t, s))
	require.False(t, lost.request(t, s))
	now.Advance(lost.refused)
	require.False(t, lost.request(t, s))
	holder.release(t, s)
	unused := lost.refused + reservation(s.stored(t, "a").GetWaiters()[0])
	require.Less(t, unused, time.Second)
	now.Advance(unused)
	require.False(t, newcomer.request(t, s))
	now.Advance(time.Microsecond)
	require.True(t, newcomer.request(t, s))
	require.False(t, lost.request(t, s), "a client that returns late waits behind the others")
}

// Clients that request a slot once and do not return never keep a free slot from each other for longer than reservations last, at whatever
// rate they come. Clients that state a holder leave it free at once.
func TestClientsThatDoNotReturn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		limit := limitOf(func(l *orchv1.ConcurrencyLimitV2) { l.Limit = 1 })
		stated := rapid.Bool().Draw(rt, "stated")
		interval := time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(3*time.Second)).Draw(rt, "interval"))
		connections := rapid.IntRange(1, 40).Draw(rt, "connections")
		const maxWait = 5 * time.Second
		waits := rapid.Int64Range(int64(50*time.Millisecond), int64(maxWait))
		now, last := noon, noon // last is when the slot became free.
		for i := range rapid.IntRange(1, 300).Draw(rt, "requests") {
			now = now.Add(interval)
			if rapid.IntRange(0, 9).Draw(rt, "release") == 0 && active(limit, now) > 0 {
				setActive(limit, 0, now)
				last = now
			}
			r := slotRequest{slots: 1, connection: fmt.Sprint(i % connections)}
			if stated {
				r.holder = &orchv1.ConcurrencyLeaseHolder{Type: taskRun, Id: fmt.Sprint(i)}
			}
			since, fits, previous := now, r.fits(limit, now), r.removeWaiter(limit, now)
			if fits {
				setActive(limit, 1, now)
				continue
			}
			if previous != nil {
				since = previous.GetSince().AsTime()
			}
			addWaiter(limit, r.refused(previous, since, now, time.Duration(waits.Draw(rt, "wait")), false))
			switch unused := now.Sub(last); {
			case active(limit, now) > 0:
			case stated:
				rt.Fatalf("a free slot is reserved for a client that has not returned")
			case unused > maxWait+maxReservation+interval:
				rt.Fatalf("a slot is free for %s", unused)
			}
		}
	})
}

// A client that waits for one limit does not block the others that it wants. When one of its limits has a free slot, the slot stays
// reserved until the client has all of them.
func TestAClientWaitsForSeveralLimits(t *testing.T) {
	t.Parallel()
	services, now := replicas(t, 1)
	s := services[0]
	s.newLimit(t, "a", 1)
	s.newLimit(t, "b", 1)
	gpu, both, database, last := applicantOf(uuid.New(), "b"), applicantOf(uuid.New(), "a", "b"), applicantOf(uuid.New(), "a"), applicantOf(uuid.New(), "b")
	require.True(t, gpu.request(t, s))
	require.False(t, both.request(t, s))
	require.True(t, database.request(t, s), "the slot of the other limit is free for others")
	now.Advance(time.Millisecond)
	gpu.release(t, s)
	require.False(t, both.request(t, s))
	now.Advance(time.Millisecond)
	require.False(t, last.request(t, s), "reserved")
	another := applicantOf(uuid.New(), "a")
	require.False(t, another.request(t, s))
	database.release(t, s)
	require.False(t, another.request(t, s), "reserved for the client that began to wait before")
	require.True(t, both.request(t, s))
	require.Len(t, s.stored(t, "a").GetWaiters(), 1)
	require.Len(t, s.stored(t, "b").GetWaiters(), 1)
}

// Slots are not reserved for a client whose return is uncertain, until shortly before it is due. A client that returns earlier is due after
// the same time again.
func TestUncertainReturns(t *testing.T) {
	t.Parallel()
	services, now := replicas(t, 1)
	s := services[0]
	s.newLimit(t, "a", 1)
	holder := applicantOf(uuid.New(), "a")
	require.True(t, holder.request(t, s))
	run, newcomer := applicantOf(uuid.New(), "a"), applicantOf(uuid.New(), "a")
	run.acquisition.RetryAfter = 30 * time.Second
	require.False(t, run.request(t, s))
	require.Equal(t, 30*time.Second, run.refused)
	holder.release(t, s)
	require.True(t, newcomer.request(t, s), "after 0 s")
	now.Advance(time.Second)
	require.False(t, run.request(t, s))
	newcomer.release(t, s)
	other := applicantOf(uuid.New(), "a")
	require.False(t, other.request(t, s), "the run returns every second")
	require.True(t, run.request(t, s))

	// A client that does not return is no waiter.
	final := applicantOf(uuid.New(), "a")
	final.acquisition.Final = true
	require.False(t, final.request(t, s))
	require.Len(t, s.stored(t, "a").GetWaiters(), 1)
	require.Equal(t, other.acquisition.Lease.Holder.GetId(), s.stored(t, "a").GetWaiters()[0].GetHolder().GetId())
}

// A limit that is lowered below its holders has no slots for others until enough holders are gone. A waiter that wants more slots than
// the limit has blocks nobody.
func TestALoweredLimit(t *testing.T) {
	t.Parallel()
	services, now := replicas(t, 2)
	s := services[0]
	s.newLimit(t, "a", 3)
	var holders []*applicant
	for range 3 {
		holders = append(holders, applicantOf(uuid.New(), "a"))
		require.True(t, holders[len(holders)-1].request(t, s))
	}
	large := applicantOf(uuid.New(), "a")
	large.acquisition.Slots = 3
	require.False(t, large.request(t, s))
	_, _, err := services[1].upsert(t.Context(), ws, "a", 1)
	require.NoError(t, err)
	next := applicantOf(uuid.New(), "a")
	for i, holder := range holders {
		require.False(t, next.request(t, s), "%d holders of 1 slot", 3-i)
		now.Advance(10 * time.Millisecond)
		holder.release(t, services[1])
	}
	require.True(t, next.request(t, s))
	_, err = s.Acquire(t.Context(), ws, large.acquisition)
	require.ErrorIs(t, err, ErrTooMany)
}

// A waiter has at most so many others in the document of its limit; further clients are refused without a position.
func TestWaitersAreBounded(t *testing.T) {
	t.Parallel()
	l := NewLimits(storetest.Embedded(t, clock.NewManual(noon)), vocabulary.Orch, nil)
	limit := &orchv1.ConcurrencyLimitV2{Id: uuid.NewString(), Name: "a", Active: true, Limit: 1, ActiveSlots: 1}
	for range MaxWaiters {
		addWaiter(limit, slotRequest{holder: &orchv1.ConcurrencyLeaseHolder{Type: taskRun, Id: uuid.NewString()}, slots: math.MaxInt64}.refused(nil, noon.Add(-time.Second), noon, time.Second, false))
	}
	require.NoError(t, l.limits.Insert(t.Context(), ws, limit))
	s := New(l)
	require.False(t, applicantOf(uuid.New(), "a").request(t, s))
	require.Len(t, s.stored(t, "a").GetWaiters(), MaxWaiters)
	raw, err := store.GetRaw(t.Context(), l.limits, ws, uuid.MustParse(limit.GetId()))
	require.NoError(t, err)
	require.Less(t, len(raw), 300<<10)
}

// Whatever requests and releases come in whatever order: no more slots are taken than there are, and a request without anybody before it
// is granted if it fits.
func TestQueuesOfWaiters(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := limitOf(func(l *orchv1.ConcurrencyLimitV2) { l.Limit = rapid.Int64Range(1, 5).Draw(t, "limit") })
		now := noon
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "pause")))
			if rapid.Bool().Draw(t, "release") {
				setActive(limit, active(limit, now)-1, now)
				continue
			}
			r := slotRequest{slots: rapid.Int64Range(1, limit.GetLimit()).Draw(t, "slots")}
			if n := rapid.IntRange(0, 6).Draw(t, "holder"); n > 0 {
				r.holder = &orchv1.ConcurrencyLeaseHolder{Type: taskRun, Id: fmt.Sprint(n)}
			}
			reserved, fits := r.slotsReserved(limit, now), r.fits(limit, now)
			if reserved == 0 && fits != (active(limit, now)+r.slots <= limit.GetLimit()) {
				t.Fatalf("the first request fits: %v", fits)
			}
			since, previous := now, r.removeWaiter(limit, now)
			if previous != nil {
				since = previous.GetSince().AsTime()
			}
			if fits {
				setActive(limit, active(limit, now)+r.slots, now)
			} else {
				addWaiter(limit, r.refused(previous, since, now, time.Second, rapid.Bool().Draw(t, "early")))
			}
			if taken := active(limit, now); taken > limit.GetLimit() {
				t.Fatalf("%d slots of %d", taken, limit.GetLimit())
			}
			for i, w := range limit.GetWaiters()[min(1, len(limit.GetWaiters())):] {
				if before := limit.GetWaiters()[i]; w.GetSince().AsTime().Before(before.GetSince().AsTime()) || proto.Equal(w, before) && w.GetHolder() != nil {
					t.Fatalf("waiters out of order: %v", limit.GetWaiters())
				}
			}
		}
	})
}

// A client without a holder is recognised by its connection when it is due. Another one takes the first position that is late.
func TestClientsWithoutHolderAreRecognised(t *testing.T) {
	t.Parallel()
	limit := limitOf()
	for i, connection := range []string{"a", "b", "c"} {
		wait := time.Duration(i+1) * time.Second
		addWaiter(limit, slotRequest{connection: connection, slots: 1}.refused(nil, noon.Add(time.Duration(i)-time.Second), noon, wait, false))
	}
	for connection, want := range map[string]string{"a": "a", "b": "b", "c": "a", "new": "a"} {
		r := slotRequest{connection: connection, slots: 1}
		require.Equal(t, want, r.waiter(limit.GetWaiters(), noon.Add(2*time.Second)).GetConnection(), connection)
	}
	require.Nil(t, slotRequest{connection: "new", slots: 1}.waiter(limit.GetWaiters(), noon.Add(1500*time.Millisecond-1)))
	require.Nil(t, slotRequest{connection: "a", slots: 2}.waiter(limit.GetWaiters(), noon.Add(2*time.Second)))
}
