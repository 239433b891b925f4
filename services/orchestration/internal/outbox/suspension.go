package outbox

import (
	"context"
	"errors"
	"time"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/isolation"
)

const (
	// probeEvery is the time between two attempts at a suspended kind.
	probeEvery = time.Second
	// probeTimeout bounds the question whether a dependency responds.
	probeTimeout = 5 * time.Second
)

// suspension is the state of a kind during an outage of what its handler needs. Effects of the kind stay in their outboxes without a
// record. One of them at a time is attempted, until one succeeds.
//
//	handler meets an outage ──► does the dependency respond? ──yes──► a failure of this effect: attempts + 1
//	                                      │ no
//	                                      ▼
//	           suspended ── one attempt each second ──succeeds──► resumed: the sweeper starts at once
type suspension struct {
	cause error
	probe time.Time // The time of the next attempt.
}

// suspendedError is the error of an effect that was not attempted, because its kind is suspended.
type suspendedError struct{ cause error }

func (e suspendedError) Error() string { return "suspended during an outage: " + e.cause.Error() }
func (e suspendedError) Unwrap() error { return e.cause }

// wasSuspended reports whether an effect was not attempted.
func wasSuspended(err error) bool {
	suspended := suspendedError{}
	return errors.As(err, &suspended)
}

// admit returns nil when an effect of a kind may be attempted, and a suspendedError otherwise.
func (r *Relay) admit(kind string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.suspended[kind]
	if s == nil {
		return nil
	}
	if now := time.Now(); !now.Before(s.probe) {
		s.probe = now.Add(probeEvery)
		return nil
	}
	return suspendedError{s.cause}
}

// suspension returns the state of a suspended kind, and whether its next attempt is due. ok is false for a kind that is not suspended.
func (r *Relay) suspension(kind string) (s suspension, due, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	current := r.suspended[kind]
	if current == nil {
		return suspension{}, false, false
	}
	return *current, !time.Now().Before(current.probe), true
}

// resume ends the suspension of a kind whose effect succeeded.
func (r *Relay) resume(ctx context.Context, kind string) {
	r.mu.Lock()
	_, was := r.suspended[kind]
	delete(r.suspended, kind)
	r.mu.Unlock()
	if !was {
		return
	}
	r.metrics.suspended.WithLabelValues(kind).Set(0)
	r.log.InfoContext(ctx, "outage is over, effects resume", "kind", kind)
	select {
	case r.resumed <- struct{}{}:
	default:
	}
}

// suspending reports whether any kind is suspended.
func (r *Relay) suspending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.suspended) > 0
}

// judge decides what an outage that one document's effect met says. If the dependency responds, it is a failure of the effect;
// otherwise the kind is suspended. Other errors, and those of an effect that was not attempted, are returned as they are.
func (r *Relay) judge(ctx context.Context, kind string, err error) error {
	if !isolation.IsOutage(err) || wasSuspended(err) || ctx.Err() != nil {
		return err
	}
	if r.responds(ctx, err) {
		// It is no longer an outage, so its cause must not match one.
		return errors.New("fails although store and broker respond: " + err.Error())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.suspended[kind] == nil {
		r.log.WarnContext(ctx, "failed to execute effects in an outage; they wait for its end", "kind", kind, "error", err)
	}
	r.metrics.suspended.WithLabelValues(kind).Set(1)
	r.suspended[kind] = &suspension{cause: err, probe: time.Now().Add(probeEvery)}
	return err
}

// responds asks the dependency that an error blames.
func (r *Relay) responds(ctx context.Context, err error) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if errors.Is(err, broker.ErrUnavailable) {
		return r.broker != nil && r.broker(ctx) == nil
	}
	return r.store.Writable(ctx) == nil
}
