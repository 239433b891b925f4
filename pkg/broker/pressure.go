package broker

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

const (
	// tolerated is how long it may take to store what is not stored yet. Beyond it publishers are held back, so that all
	// that was acknowledged is stored within 5 s although the measure lags behind.
	tolerated = 2200 * time.Millisecond
	// maxStrength bounds how strongly publishers are held back: so many processes, of which each lets in as much as is
	// stored divided by it, do not let in more than is stored together.
	maxStrength = 16

	// pressureWindow is how far back the rate of storing is looked for, and pressureLook how often it is measured while
	// much is published. lookAfter is how many events make it worth a look.
	pressureWindow = 2 * time.Second
	pressureLook   = 100 * time.Millisecond
	lookAfter      = 500
	// pressureGap is how long two looks may be apart to count as an unbroken one.
	pressureGap = 5 * pressureLook

	// holdStep is how long one who is held back keeps to a price.
	holdStep = 250 * time.Millisecond

	// tellEvery is how often the log is told at the most.
	tellEvery = time.Minute
)

// pressure holds publishers back while events come faster than they are stored, which costs much more than taking them
// in. It looks now and then how far the consumer is that stores them, and makes a price of it: the time that a publisher
// waits for each of its events.
//
//	         what is pending
//	behind = ───────────────     price = callers · strength(behind) / rate     wait = events · price
//	         rate of storing
//
// At a strength of 1 the callers of this process publish just as much together as is stored, whatever their number, and
// each as much as any other; several processes share the rate at a higher strength. Who brings little waits little.
// A consumer that makes no progress, because the store is away, holds nobody back: the broker is there to take in what
// comes meanwhile. Nor does one that is slow because nothing is left to do.
type pressure struct {
	look  func(context.Context) (progress, error)
	log   *slog.Logger
	tally tally
	// Callers publish or are held back at this moment.
	callers atomic.Int64
	unseen  atomic.Int64 // Events that were published since the last look.
	price   atomic.Int64 // Nanoseconds.
	wake    chan struct{}
	told    time.Time // When the log was last told. Owned by run.
}

func newPressure(look func(context.Context) (progress, error), log *slog.Logger) *pressure {
	return &pressure{look: look, log: log, wake: make(chan struct{}, 1)}
}

// published notes that the stream has a frame.
func (p *pressure) published(number uint64, events int) {
	p.tally.add(int64(number), int64(events))
	if p.unseen.Add(int64(events)) < lookAfter {
		return
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run looks as often as there is reason to, until ctx ends.
func (p *pressure) run(ctx context.Context) {
	var past track
	for {
		select {
		case <-p.wake:
		case <-ctx.Done():
			return
		}
		for p.price.Load() > 0 || p.unseen.Load() >= lookAfter {
			p.unseen.Store(0)
			p.judge(ctx, &past)
			if !pause(ctx, pressureLook) {
				return
			}
		}
	}
}

// judge looks, and sets the price.
func (p *pressure) judge(ctx context.Context, past *track) {
	now, err := p.look(ctx)
	if err != nil {
		*past = track{} // The broker is away, or its leader; publishers learn it by themselves.
		p.price.Store(0)
		return
	}
	pending, settled := p.tally.settle(past.frames, now)
	past.add(now, pending, settled)
	behind, rate := past.behind()
	price := time.Duration(0)
	if s := strength(behind); s > 0 {
		price = time.Duration(float64(max(p.callers.Load(), 1)) * s / rate * float64(time.Second))
	}
	p.price.Store(int64(price))
	if price > 0 && now.at.Sub(p.told) > tellEvery {
		p.told = now.at
		p.log.InfoContext(ctx, "events come faster than they are stored; publishers are held back",
			"behind", behind.Round(10*time.Millisecond).String(), "stored_per_second", int(rate))
	}
}

// strength is 1 half a second beyond what is tolerated, and rises fast.
func strength(behind time.Duration) float64 {
	excess := (behind - tolerated).Seconds()
	if excess <= 0 {
		return 0
	}
	return min(4*excess*excess, maxStrength)
}

// hold waits as long as the publisher of so many events is to be held back: until ctx or closing end, and not for longer
// than most. The publisher is one of the callers meanwhile.
func (p *pressure) hold(ctx context.Context, events int, most time.Duration, closing <-chan struct{}) {
	price := p.price.Load()
	if price == 0 {
		return
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	for owed := float64(events); price > 0 && owed >= 0.5 && most > 0; price = p.price.Load() {
		step := min(time.Duration(owed*float64(price)), holdStep, most)
		timer.Reset(step)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		case <-closing:
			return
		}
		owed -= float64(step) / float64(price)
		most -= step
	}
}
