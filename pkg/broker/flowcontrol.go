package broker

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/orch-project/orch/pkg/clock"
)

const (
	// windowTime is the time in which the window of unstored events is stored, at the measured rate.
	windowTime = 2 * time.Second
	// minWindow is the least window, in events, and initialWindow the window while the rate is unknown.
	minWindow     = 1 << 10
	initialWindow = 32 << 10
	// sampleShare is the part of the window that is admitted between two samples at most.
	sampleShare = 0.25
	// overWindowShare is the part of the measured rate that is admitted while the backlog exceeds the window, as after an
	// outage of the store. It is below 1, so such a backlog shrinks.
	overWindowShare = 0.5
	// minRate is the least rate for overWindowShare, in events a second.
	minRate = 1000

	// sampleInterval is the time between samples while events are published.
	sampleInterval = 50 * time.Millisecond
	// sampleAfter is how many events cause a sample.
	sampleAfter = 500

	// backpressureLogInterval is the least time between two log lines about backpressure.
	backpressureLogInterval = time.Minute
)

// flowControl is credit-based flow control between the clients that publish events and the consumer that stores them.
// Storing an event costs many times as much as publishing it, so clients must not publish faster than events are stored
// for long. A client's events need credit before they are published:
//
//	               ┌── credit left ─────────────────> publish ──> stream ──> consumer "persist"
//	acquire(n) ────┤                         ^                                    │
//	               └── none: fair queue ── sample <──── position of the consumer ─┘
//
//	window  = rate at which this process's events are stored · windowTime
//	backlog = this process's events: published and not stored, or admitted and not yet published
//	credit  = window - backlog, at most sampleShare · window until the next sample
//
// So backlog ≤ window holds after each admission, plus one request, whatever the number of clients. An acknowledged event is stored within windowTime at the measured rate. The rule does not depend on the time between two
// samples: an old sample only grants less. The rates of all processes add up to the consumer's rate, so their windows
// add up to windowTime (Little's law). Processes need no coordination.
//
//   - The queue is fair between requests, and serves small ones first (see fairQueue).
//   - While the rate is unknown, the window is initialWindow less an estimate of the other processes' backlog.
//   - A consumer without progress for a second limits nothing: the store is away, and the broker buffers.
//   - A backlog above the window, from an outage or the server's own events, leaves overWindowShare of the rate.
//   - An unreachable broker limits nothing; publishers get its error.
type flowControl struct {
	sample func(context.Context) (consumerPosition, error)
	log    *slog.Logger
	// backlog counts this process's published events that are not stored yet.
	backlog backlog
	wake    chan struct{}

	mu        sync.Mutex
	queue     fairQueue
	credit    float64 // Events that may be admitted before the next sample; may be negative by one request.
	admitted  int     // Events that were admitted and whose publishing has not ended.
	uncounted int     // Admitted before a running sample, or since; a sample may not have counted them.
	unsampled int     // Events that were published since the last sample.
	sampledAt time.Time
	loggedAt  time.Time
}

func newFlowControl(sample func(context.Context) (consumerPosition, error), log *slog.Logger) *flowControl {
	return &flowControl{sample: sample, log: log, wake: make(chan struct{}, 1), credit: sampleShare * initialWindow}
}

// unlimited returns flow control that admits everything, for connections without the consumer that stores events.
func unlimited() *flowControl {
	return &flowControl{credit: math.Inf(1), wake: make(chan struct{}, 1)}
}

// acquire waits for credit for so many events. After nil the caller publishes them and then calls release. It returns
// ErrUnavailable when no credit comes within timeout (0: no limit), ErrClosed when closing ends first, or the error of
// ctx.
func (f *flowControl) acquire(ctx context.Context, events int, timeout time.Duration, closing <-chan struct{}) error {
	f.mu.Lock()
	if f.queue.empty() && f.credit > 0 {
		f.admit(events)
		f.mu.Unlock()
		return nil
	}
	w := f.queue.push(events)
	f.mu.Unlock()
	f.requestSample()

	var expired <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		expired = timer.C
	}
	var err error
	select {
	case <-w.admitted:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-closing:
		err = ErrClosed
	case <-expired:
		err = fmt.Errorf("%w: events are published faster than they are stored", ErrUnavailable)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.queue.remove(w) {
		return nil // It was admitted meanwhile.
	}
	return err
}

// release ends an admission whose events were published, or failed to be.
func (f *flowControl) release(events int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.admitted -= events
}

// admit takes credit. The caller holds the lock.
func (f *flowControl) admit(events int) {
	f.credit -= float64(events)
	f.admitted += events
	f.uncounted += events
}

// published records that the stream has stored a frame.
func (f *flowControl) published(sequence uint64, events int) {
	f.backlog.add(int64(sequence), int64(events))
	f.mu.Lock()
	f.unsampled += events
	due := f.unsampled >= sampleAfter
	f.mu.Unlock()
	if due {
		f.requestSample()
	}
}

func (f *flowControl) requestSample() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// run samples the consumer's position while events are published or requests wait, until ctx ends.
func (f *flowControl) run(ctx context.Context) {
	var rate drainRate
	for {
		select {
		case <-f.wake:
		case <-ctx.Done():
			return
		}
		for f.active() {
			f.refresh(ctx, &rate)
			if !clock.Pause(ctx, sampleInterval) {
				return
			}
		}
	}
}

// active reports whether the next sample is due.
func (f *flowControl) active() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.unsampled >= sampleAfter || !f.queue.empty()
}

// refresh takes a sample, computes the credit until the next one and admits queued requests.
func (f *flowControl) refresh(ctx context.Context, rate *drainRate) {
	f.mu.Lock()
	f.unsampled = 0
	f.uncounted = f.admitted // An event that is published during the sample counts twice, never not at all.
	f.mu.Unlock()
	now, err := f.sample(ctx)
	if err != nil {
		*rate = drainRate{}
		f.grant(math.Inf(1))
		return
	}
	pending, settled := f.backlog.advance(now)
	rate.add(now, pending, settled)
	if rate.isStalled() {
		f.grant(math.Inf(1))
		return
	}
	perSecond, measured := rate.perSecond()
	window, others := max(windowTime.Seconds()*perSecond, minWindow), 0.
	if !measured {
		window, others = initialWindow, f.backlog.others(now)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	elapsed := min(now.at.Sub(f.sampledAt), time.Second).Seconds()
	f.sampledAt = now.at
	available := window - pending - others - float64(f.uncounted)
	trickle := min(f.credit, 0) + overWindowShare*max(perSecond, minRate)*max(elapsed, 0)
	if !f.queue.empty() && now.at.Sub(f.loggedAt) > backpressureLogInterval {
		f.loggedAt = now.at
		f.log.InfoContext(ctx, "events are published faster than they are stored; clients are delayed",
			"backlog_events", int(pending), "stored_per_second", int(perSecond))
	}
	f.grantLocked(min(max(available, trickle), sampleShare*window))
}

// grant sets the credit and admits queued requests in fair order.
func (f *flowControl) grant(credit float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.grantLocked(credit)
}

// grantLocked is grant for a caller that holds the lock.
func (f *flowControl) grantLocked(credit float64) {
	f.credit = credit
	for f.credit > 0 && !f.queue.empty() {
		f.admit(f.queue.pop())
	}
}
