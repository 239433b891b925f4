package concurrency

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// MaxWaiters bounds the waiters of a limit, which are in its document. Further requests are refused without a position.
	MaxWaiters = 1_000
	// minReservation and maxReservation bound the time for which free slots stay reserved for a waiter that is due.
	minReservation = 500 * time.Millisecond
	maxReservation = 2 * time.Second
	// earlyTolerance is the time by which a waiter without a holder may return early.
	earlyTolerance = 5 * time.Millisecond
)

// reservation returns the time for which slots stay reserved for a waiter that is due: as long as the waiter was asked to wait, within
// bounds. So a client that requests slots once leaves them unused for less than a second.
func reservation(w *orchv1.ConcurrencySlotWaiter) time.Duration {
	return min(max(w.GetDue().AsTime().Sub(w.GetRequested().AsTime()), minReservation), maxReservation)
}

// overdue reports whether a waiter has not returned in time.
func overdue(w *orchv1.ConcurrencySlotWaiter, now time.Time) bool {
	return now.Sub(w.GetDue().AsTime()) > reservation(w)
}

// slotRequest is a request for slots as the waiters of a limit see it. Requests of one holder for one number of slots are repetitions.
type slotRequest struct {
	holder     *orchv1.ConcurrencyLeaseHolder // Nil when the client states none.
	connection string
	slots      int64
}

// waiter returns the waiter that made the request before; nil if none did. A client without a holder returns on its connection when it is
// due. One on another connection takes the first position whose client is late by half of its reservation, because both may be one client.
func (r slotRequest) waiter(waiters []*orchv1.ConcurrencySlotWaiter, now time.Time) *orchv1.ConcurrencySlotWaiter {
	var absent *orchv1.ConcurrencySlotWaiter
	for _, w := range waiters {
		if overdue(w, now) || w.GetSlots() != r.slots || !proto.Equal(w.GetHolder(), r.holder) {
			continue
		}
		lateness := now.Sub(w.GetDue().AsTime())
		switch {
		case r.holder != nil || w.GetConnection() == r.connection && lateness >= -earlyTolerance:
			return w
		case absent == nil && lateness >= reservation(w)/2:
			absent = w
		}
	}
	return absent
}

// slotsReserved returns the number of slots that are reserved for the waiters that precede the request.
func (r slotRequest) slotsReserved(limit *orchv1.ConcurrencyLimitV2, now time.Time) int64 {
	var slots int64
	previous := r.waiter(limit.GetWaiters(), now)
	for _, w := range limit.GetWaiters() {
		switch {
		case w == previous:
			return slots
		case overdue(w, now) || w.Reserved == nil || w.GetReserved().AsTime().After(now):
		case w.GetSlots() > limit.GetLimit(): // The limit was lowered.
		default:
			slots += min(w.GetSlots(), math.MaxInt64-slots)
		}
	}
	return slots
}

// fits reports whether a limit has free slots for the request that are not reserved for others.
func (r slotRequest) fits(limit *orchv1.ConcurrencyLimitV2, now time.Time) bool {
	return active(limit, now) <= limit.GetLimit()-r.slots-r.slotsReserved(limit, now)
}

// refused returns the waiter of a request that is refused now and was refused first at a time; previous is that of the preceding request, if
// the limit has it. The client returns after a wait, or before it if it can: then slots are not reserved until shortly before it is due. A
// client that has returned early is due after the same time again. No slots are reserved for a client that has not returned yet: clients
// that request slots once, at a higher rate than reservations end, would leave a free slot reserved for ever.
func (r slotRequest) refused(previous *orchv1.ConcurrencySlotWaiter, since, now time.Time, wait time.Duration, early bool) *orchv1.ConcurrencySlotWaiter {
	w := &orchv1.ConcurrencySlotWaiter{
		Holder: r.holder, Connection: r.connection, Slots: r.slots, Since: timestamppb.New(since), Requested: timestamppb.New(now),
	}
	reserved := now
	if early {
		if previous != nil {
			wait = min(wait, max(0, now.Sub(previous.GetRequested().AsTime())))
		}
		reserved = now.Add(wait - maxReservation)
	}
	if since.Before(now) {
		w.Reserved = timestamppb.New(reserved)
	}
	w.Due = timestamppb.New(now.Add(wait))
	return w
}

// removeWaiters removes the matching waiters from a limit, and those that have not returned in time.
func removeWaiters(limit *orchv1.ConcurrencyLimitV2, now time.Time, matches func(*orchv1.ConcurrencySlotWaiter) bool) {
	limit.Waiters = slices.DeleteFunc(limit.Waiters, func(w *orchv1.ConcurrencySlotWaiter) bool { return overdue(w, now) || matches(w) })
}

// removeWaiter removes the waiter that made a request before.
func (r slotRequest) removeWaiter(limit *orchv1.ConcurrencyLimitV2, now time.Time) (previous *orchv1.ConcurrencySlotWaiter) {
	previous = r.waiter(limit.GetWaiters(), now)
	removeWaiters(limit, now, func(w *orchv1.ConcurrencySlotWaiter) bool { return w == previous })
	return previous
}

// addWaiter adds a waiter behind those that have waited as long, unless the limit has too many. Nobody waits for a limit with a decay: time
// frees its slots, not a client.
func addWaiter(limit *orchv1.ConcurrencyLimitV2, waiter *orchv1.ConcurrencySlotWaiter) {
	if len(limit.Waiters) >= MaxWaiters || limit.GetSlotDecayPerSecond() > 0 {
		return
	}
	at := slices.IndexFunc(limit.Waiters, func(w *orchv1.ConcurrencySlotWaiter) bool {
		return w.GetSince().AsTime().After(waiter.GetSince().AsTime())
	})
	if at < 0 {
		at = len(limit.Waiters)
	}
	limit.Waiters = slices.Insert(limit.Waiters, at, waiter)
}

// Withdraw ends the reservations of a holder that no longer waits for slots of the limits.
func (l *Limits) Withdraw(ctx context.Context, ws uuid.UUID, limits []*orchv1.ConcurrencyLimitV2, holder *orchv1.ConcurrencyLeaseHolder) error {
	matches := func(w *orchv1.ConcurrencySlotWaiter) bool { return proto.Equal(w.GetHolder(), holder) }
	for _, limit := range limits {
		if !slices.ContainsFunc(limit.GetWaiters(), matches) {
			continue
		}
		err := l.mutateQuietly(ctx, ws, limit.GetId(), func(limit *orchv1.ConcurrencyLimitV2) {
			removeWaiters(limit, l.limits.Store().Now(), matches)
		})
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}
