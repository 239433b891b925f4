package concurrency

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ErrTooMany means that a request exceeds the size of a limit.
var ErrTooMany = errors.New("more slots than the limit has")

// NoDecayError means that limits without slot decay were requested as rate limits.
type NoDecayError struct{ Names []string }

func (e *NoDecayError) Error() string { return "no slot decay: " + strings.Join(e.Names, ", ") }

const (
	// MaxHolders bounds the holders of a limit, which are in its document.
	MaxHolders = 40_000
	// maxLimitBytes is the size of a document with so many holders: half of what the store accepts, because the deletion of a limit
	// carries it a second time.
	maxLimitBytes = 8 << 20
)

// FullError means that a limit has no free slots. Nothing was taken.
type FullError struct {
	// Name is the first full limit's.
	Name string
	// Wait is the time until the next attempt.
	Wait time.Duration
	// Holders reports that the limit has slots, and as many holders as it may have.
	Holders bool
}

func (e *FullError) Error() string {
	if e.Holders {
		return fmt.Sprintf("%d holders, the maximum; try again in %s", MaxHolders, e.Wait)
	}
	return fmt.Sprintf("no free slots; try again in %s", e.Wait)
}

// Lease says who holds slots, and for how long.
type Lease struct {
	ID uuid.UUID
	// Duration is the time until the slots are released, unless the lease is renewed; 0 means never.
	Duration time.Duration
	// Holder is nil when the client does not name one.
	Holder *orchv1.ConcurrencyLeaseHolder
}

// Acquisition is a request for slots.
type Acquisition struct {
	Names []string
	Slots int64
	// Rate requests permits of a rate limit; every limit must have a slot decay.
	Rate bool
	// Lease is nil when the slots are given back by count.
	Lease *Lease
	// Once takes no slot of a limit of which the lease's holder has one without an expiry.
	Once bool
	// Connection is that of the request; it recognises clients without a holder.
	Connection string
	// Final means that a refused client does not request the slots again, so none are reserved for it.
	Final bool
	// RetryAfter is the time after which a refused client requests the slots again, or earlier; zero lets the limit decide.
	RetryAfter time.Duration
	// Grain rounds up the time that the limit decides; zero does not.
	Grain time.Duration
}

// request is what waiters of a limit see of an acquisition.
func (a Acquisition) request() slotRequest {
	r := slotRequest{slots: a.Slots, connection: a.Connection}
	if a.Lease != nil {
		r.holder = a.Lease.Holder
	}
	return r
}

// provisional is how long an acquisition by count holds slots until all of them are taken. A process that dies in between
// gives them back that way.
const provisional = time.Minute

// Acquire takes slots of all the limits of these names that exist and are active, or of none. It returns the limits,
// including inactive ones. It returns a *FullError when one is full, and ErrTooMany or a *NoDecayError when one can never
// grant the request.
func (l *Limits) Acquire(ctx context.Context, ws uuid.UUID, a Acquisition) ([]*orchv1.ConcurrencyLimitV2, error) {
	limits, err := l.find(ctx, ws, named(a.Names))
	if err != nil {
		return nil, err
	}
	open := slices.DeleteFunc(slices.Clone(limits), func(limit *orchv1.ConcurrencyLimitV2) bool { return !limit.GetActive() })
	if err := l.acquire(ctx, ws, open, a); err != nil {
		return nil, err
	}
	return limits, nil
}

func (l *Limits) acquire(ctx context.Context, ws uuid.UUID, limits []*orchv1.ConcurrencyLimitV2, a Acquisition) error {
	var steady []string
	for _, limit := range limits {
		if limit.GetLimit() < a.Slots {
			return ErrTooMany
		}
		if a.Rate && limit.GetSlotDecayPerSecond() <= 0 {
			steady = append(steady, limit.GetName())
		}
	}
	if len(steady) > 0 {
		return &NoDecayError{steady}
	}
	lease := a.Lease
	if lease == nil {
		lease = &Lease{ID: l.limits.Store().NewID(), Duration: provisional}
	}
	for i, limit := range limits {
		full, err := l.take(ctx, ws, limit.GetId(), a, lease)
		if err == nil && full == nil {
			continue
		}
		// Written slots are released even when the caller has gone; so is a write in doubt.
		undo := context.WithoutCancel(ctx)
		if failed := l.giveBack(undo, ws, limits[:i+1], lease); failed != nil {
			return errors.Join(err, failed)
		}
		if err != nil {
			return err
		}
		full.Name = limit.GetName()
		return l.refuse(undo, ws, limits, full, a)
	}
	if a.Lease == nil {
		return l.confirm(ctx, ws, limits, a.Slots, lease)
	}
	if len(limits) == 0 {
		return l.holdNothing(ctx, ws, a.Lease)
	}
	return nil
}

// take takes slots of one limit for a lease, or reports that none are free. A concurrently deleted limit counts as
// unlimited.
func (l *Limits) take(ctx context.Context, ws uuid.UUID, id string, a Acquisition, lease *Lease) (full *FullError, err error) {
	slots := a.Slots
	_, err = l.mutate(ctx, ws, id, func(limit *orchv1.ConcurrencyLimitV2) (bool, error) {
		now := l.limits.Store().Now()
		full = nil
		if !limit.GetActive() || a.Once && holdsAny(limit, lasting(lease.Holder.GetType(), uuid.MustParse(lease.Holder.GetId()))) {
			return false, nil
		}
		request := a.request()
		crowded := len(limit.GetHolders()) >= MaxHolders
		if !request.fits(limit, now) || crowded {
			full = &FullError{Holders: crowded}
			return false, nil
		}
		request.removeWaiter(limit, now)
		setActive(limit, active(limit, now)+slots, now)
		limit.Holders = append(limit.Holders, lease.holding(slots, now))
		return true, nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return full, err
}

func (l *Lease) holding(slots int64, now time.Time) *orchv1.ConcurrencySlotHolder {
	h := &orchv1.ConcurrencySlotHolder{LeaseId: l.ID.String(), Slots: slots, Since: timestamppb.New(now), Holder: l.Holder}
	if l.Duration > 0 {
		h.Expires = timestamppb.New(now.Add(l.Duration))
	}
	return h
}

// giveBack undoes what take did, and what it may have done: a write in doubt left the lease among the holders, or nothing.
// Slots that cannot be released now expire with the lease.
func (l *Limits) giveBack(ctx context.Context, ws uuid.UUID, limits []*orchv1.ConcurrencyLimitV2, lease *Lease) error {
	var all error
	for _, limit := range limits {
		_, err := l.mutate(ctx, ws, limit.GetId(), func(limit *orchv1.ConcurrencyLimitV2) (bool, error) {
			taken := remove(limit, byLease(lease.ID))
			setActive(limit, active(limit, l.limits.Store().Now())-slotsOf(taken), l.limits.Store().Now())
			return len(taken) > 0, nil
		})
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			all = errors.Join(all, err)
		}
	}
	return all
}

// confirm makes slots that were held provisionally taken for good, or gives all of them back.
func (l *Limits) confirm(ctx context.Context, ws uuid.UUID, limits []*orchv1.ConcurrencyLimitV2, slots int64, lease *Lease) error {
	for i, limit := range limits {
		_, err := l.mutate(ctx, ws, limit.GetId(), func(limit *orchv1.ConcurrencyLimitV2) (bool, error) {
			return len(remove(limit, byLease(lease.ID))) > 0, nil
		})
		if err == nil || errors.Is(err, store.ErrNotFound) {
			continue
		}
		undo := context.WithoutCancel(ctx)
		confirmed := limits[:i]
		if store.InDoubt(err) {
			confirmed = limits[:i+1]
		}
		return errors.Join(err, l.unconfirm(undo, ws, confirmed, slots, lease), l.giveBack(undo, ws, limits[i:], lease))
	}
	return nil
}

// unconfirm gives back slots that have no holder any more. A confirmation in doubt may have left the holder: then giveBack
// gives its slots back.
func (l *Limits) unconfirm(ctx context.Context, ws uuid.UUID, limits []*orchv1.ConcurrencyLimitV2, slots int64, lease *Lease) error {
	var all error
	for _, limit := range limits {
		_, err := l.mutate(ctx, ws, limit.GetId(), func(limit *orchv1.ConcurrencyLimitV2) (bool, error) {
			if holdsAny(limit, byLease(lease.ID)) {
				return false, nil
			}
			now := l.limits.Store().Now()
			setActive(limit, max(0, active(limit, now)-slots), now)
			return true, nil
		})
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			all = errors.Join(all, err)
		}
	}
	return all
}

// refuse records denied slots and the waiter, and returns the error with the time to wait.
//
// The client waits at the limits without a slot for it. It keeps its position there until it has slots of all limits, and brings the
// time since which it waits to the next limit without one. So of two clients that wait for each other's reservations, one is first
// everywhere.
func (l *Limits) refuse(ctx context.Context, ws uuid.UUID, limits []*orchv1.ConcurrencyLimitV2, full *FullError, a Acquisition) error {
	now := l.limits.Store().Now()
	request := a.request()
	since, waiting := now, map[string]bool{}
	for _, limit := range limits {
		previous := request.waiter(limit.GetWaiters(), now)
		waiting[limit.GetId()] = previous != nil || limit.GetName() == full.Name
		if previous != nil && previous.GetSince().AsTime().Before(since) {
			since = previous.GetSince().AsTime()
		}
	}
	full.Wait = a.RetryAfter
	if full.Wait == 0 {
		full.Wait = roundUp(seconds(wait(limits, request, now, now.Sub(since), l.chance())), a.Grain)
	}
	if full.Holders {
		full.Wait = max(full.Wait, time.Second) // The occupancy of slots says nothing about holders.
	}
	for _, limit := range limits {
		err := l.mutateQuietly(ctx, ws, limit.GetId(), func(limit *orchv1.ConcurrencyLimitV2) {
			limit.DeniedSlots = denied(limit, now) + a.Slots
			limit.DeniedAt = timestamppb.New(now)
			if a.Final || !waiting[limit.GetId()] && request.fits(limit, now) {
				return
			}
			previous := request.removeWaiter(limit, now)
			addWaiter(limit, request.refused(previous, since, now, full.Wait, a.RetryAfter > 0))
		})
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return full
}

// roundUp returns the least multiple of the grain that is not less; a grain of zero changes nothing.
func roundUp(d, grain time.Duration) time.Duration {
	if rounded := d.Truncate(grain); rounded < d {
		return rounded + grain
	}
	return d
}
