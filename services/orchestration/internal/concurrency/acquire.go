package concurrency

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ErrTooMany means that more slots were asked for than a limit has.
var ErrTooMany = errors.New("more slots than the limit has")

// NoDecayError means that limits whose slots do not come back by themselves were asked for as rate limits.
type NoDecayError struct{ Names []string }

func (e *NoDecayError) Error() string { return "no slot decay: " + strings.Join(e.Names, ", ") }

// FullError means that a limit has no free slots; nothing was taken.
type FullError struct {
	// Name is of the first limit that has none.
	Name string
	// Wait is how long to wait before asking again.
	Wait time.Duration
}

func (e *FullError) Error() string { return fmt.Sprintf("no free slots; try again in %s", e.Wait) }

// Lease is for how long slots are held, and by whom.
type Lease struct {
	ID uuid.UUID
	// Duration is the time after which the slots come back unless the lease is renewed; 0 = they do not.
	Duration time.Duration
	// Holder is who holds them, when they say so.
	Holder *orchv1.ConcurrencyLeaseHolder
}

// Acquisition asks for slots.
type Acquisition struct {
	Names []string
	Slots int64
	// Rate asks for the right to begin something: only limits with a decay give it.
	Rate bool
	// Lease is nil when the slots are to be given back by count.
	Lease *Lease
}

// provisional is how long slots are kept for an acquisition of several limits by count, until all are taken.
const provisional = time.Minute

// Acquire takes slots of all the limits of these names that exist and are active, or of none. It returns the limits, the
// inactive ones too: who asks learns that they exist. A *FullError when one is full, ErrTooMany or
// a *NoDecayError when one can never give what is asked.
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
	hold, confirm := a.Lease, false
	if hold == nil && len(limits) > 1 {
		hold, confirm = &Lease{ID: l.limits.Store().NewID(), Duration: provisional}, true
	}
	for i, limit := range limits {
		taken, err := l.take(ctx, ws, limit.GetId(), a.Slots, hold)
		if err == nil && taken {
			continue
		}
		// What was written is undone even when the caller has gone.
		back := context.WithoutCancel(ctx)
		if undo := l.giveBack(back, ws, limits[:i+1], hold); undo != nil {
			return errors.Join(err, undo)
		}
		if err != nil {
			return err
		}
		return l.refuse(back, ws, limits, limit.GetName(), a.Slots)
	}
	if confirm {
		return l.confirm(ctx, ws, limits, hold.ID)
	}
	if a.Lease != nil && len(limits) == 0 {
		return l.holdNothing(ctx, ws, a.Lease)
	}
	return nil
}

// take takes slots of one limit, or tells that there are none. A limit that is gone meanwhile has as many as are asked.
func (l *Limits) take(ctx context.Context, ws uuid.UUID, id string, slots int64, lease *Lease) (bool, error) {
	full := false
	_, err := l.mutate(ctx, ws, id, func(limit *orchv1.ConcurrencyLimitV2) (bool, error) {
		now := l.limits.Store().Now()
		full = false
		if !limit.GetActive() {
			return false, nil
		}
		taken := active(limit, now)
		if taken > limit.GetLimit()-slots {
			full = true
			return false, nil
		}
		setActive(limit, taken+slots, now)
		if lease != nil {
			limit.Holders = append(limit.Holders, lease.holding(slots, now))
		}
		return true, nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	}
	return !full, err
}

func (l *Lease) holding(slots int64, now time.Time) *orchv1.ConcurrencySlotHolder {
	h := &orchv1.ConcurrencySlotHolder{LeaseId: l.ID.String(), Slots: slots, Since: timestamppb.New(now), Holder: l.Holder}
	if l.Duration > 0 {
		h.Expires = timestamppb.New(now.Add(l.Duration))
	}
	return h
}

// giveBack undoes what take did, also where it is not known whether it did. Of limits taken by count there is one at
// most, and it was not taken.
func (l *Limits) giveBack(ctx context.Context, ws uuid.UUID, limits []*orchv1.ConcurrencyLimitV2, lease *Lease) error {
	if lease == nil {
		return nil
	}
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

// confirm makes slots that were held provisionally taken for good.
func (l *Limits) confirm(ctx context.Context, ws uuid.UUID, limits []*orchv1.ConcurrencyLimitV2, lease uuid.UUID) error {
	for _, limit := range limits {
		_, err := l.mutate(ctx, ws, limit.GetId(), func(limit *orchv1.ConcurrencyLimitV2) (bool, error) {
			return len(remove(limit, byLease(lease))) > 0, nil
		})
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

// refuse counts slots that were asked for in vain, and says how long to wait.
func (l *Limits) refuse(ctx context.Context, ws uuid.UUID, limits []*orchv1.ConcurrencyLimitV2, full string, slots int64) error {
	now := l.limits.Store().Now()
	var before []*orchv1.ConcurrencyLimitV2
	for _, limit := range limits {
		var seen *orchv1.ConcurrencyLimitV2
		err := l.mutateQuietly(ctx, ws, limit.GetId(), func(limit *orchv1.ConcurrencyLimitV2) {
			seen = proto.Clone(limit).(*orchv1.ConcurrencyLimitV2)
			limit.DeniedSlots = denied(limit, now) + slots
			limit.DeniedAt = timestamppb.New(now)
		})
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if err == nil {
			before = append(before, seen)
		}
	}
	seconds := wait(before, slots, now, l.chance())
	return &FullError{Name: full, Wait: time.Duration(seconds * float64(time.Second))}
}
