package liveness

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

const (
	// maxGap bounds the interval that is taken from a run's heartbeats.
	maxGap = 24 * time.Hour
	// maxSender bounds the text about the sender of a heartbeat, in bytes.
	maxSender = 96
)

// heartbeat is a heartbeat of a run, or one of a worker that counts for it.
type heartbeat struct {
	occurred time.Time // By the clock of the client; zero for a heartbeat of a worker.
	received time.Time
	sender   string // Empty for a client that states no version.
}

// watch is the monitor's memory of one run. Durations are readings of the monotonic clock.
type watch struct {
	workspace, run uuid.UUID
	deployment     uuid.UUID // Nil for a run without one.
	state          uuid.UUID // The state in which the run is silent.
	entered        time.Time // The time of that state.
	pending        bool

	beat    heartbeat        // The newest heartbeat; zero before the first.
	gaps    [2]time.Duration // Between the newest three, by the times at which they were received; zero before there are so many.
	reports bool             // Whether the run sends heartbeats, so those of a worker do not count.

	heard   time.Duration // When the run was last known to be alive.
	checked time.Duration // The last check for heartbeats.
	next    time.Duration // The next one.

	suspected bool
	events    int64 // The number of events about the run at the last check of the suspicion.
	pass      uint64
}

// enter begins to measure the silence in a state.
func (w *watch) enter(state uuid.UUID, at time.Time, pending bool, now time.Duration) {
	w.state, w.entered, w.pending = state, at, pending
	w.heard, w.next, w.suspected = now, now, false
}

// interval is the longest time between heartbeats: what is configured, or what the run showed twice. One gap alone may be a step of a clock or
// an outage.
func (w *watch) interval(t timeouts) time.Duration {
	return max(t.interval, min(w.gaps[0], w.gaps[1], maxGap))
}

// timeout is the silence after which the run is lost.
func (w *watch) timeout(t timeouts) time.Duration {
	if w.pending {
		return t.pending
	}
	return time.Duration(t.missed) * w.interval(t)
}

// observe records the heartbeats that a check found, newest first. wall is the time of the check by the wall clock, and since the reading from
// which the monitor hears.
func (w *watch) observe(beats []heartbeat, now, since time.Duration, wall time.Time, t timeouts) {
	if len(beats) > 0 {
		newest := beats[0]
		w.measure(beats)
		newest.sender = newest.sender[:min(len(newest.sender), maxSender)]
		w.beat = newest
		// It came after the last check. A wrong clock may claim any time since, so only a part of the silence is credited to it.
		credit := min(now-max(since, w.checked), (w.timeout(t)-w.interval(t))/2)
		w.heard = max(w.heard, now-min(max(wall.Sub(newest.received), 0), max(credit, 0)))
		w.suspected = false
	}
	w.checked = now
}

// measure records the gaps between heartbeats, the newest of which a check has found.
func (w *watch) measure(found []heartbeat) {
	beats := slices.Clone(found)
	if !w.beat.received.IsZero() {
		beats = append(beats, w.beat)
	}
	for i := min(len(beats)-1, len(w.gaps)) - 1; i >= 0; i-- {
		w.gaps = [...]time.Duration{max(beats[i].received.Sub(beats[i+1].received), 0), w.gaps[0]}
	}
}

// quiet returns the silence that counts.
func (w *watch) quiet(now, since time.Duration) time.Duration { return now - max(w.heard, since) }

// suspicion is the silence after which the run is suspected. It leaves one and a half intervals until the run is lost, in which a heartbeat
// comes even if it is late; after a step back of the clock, only the number of events shows it.
func (w *watch) suspicion(t timeouts) time.Duration {
	return max(w.timeout(t)-w.interval(t)*3/2, w.interval(t))
}

// suspicious reports whether a run is suspected, or is to be.
func (w *watch) suspicious(now, since time.Duration, t timeouts) bool {
	return w.monitored(t) && !w.pending && (w.suspected || w.quiet(now, since) >= w.suspicion(t))
}

// suspect records the number of events about the run. An event since the last check of the suspicion shows that the run is alive, but ends no
// suspicion, so the next checks count as well.
func (w *watch) suspect(count int64, now time.Duration) {
	if w.suspected && count > w.events {
		w.heard = now
	}
	w.suspected, w.events = true, count
}

// lost reports whether a run was silent for its timeout.
func (w *watch) lost(now, since time.Duration, t timeouts) bool {
	return w.monitored(t) && (w.pending || w.suspected) && w.quiet(now, since) >= w.timeout(t)
}

// monitored reports whether a run can be lost at all.
func (w *watch) monitored(t timeouts) bool {
	if w.pending {
		return t.pending > 0
	}
	return t.missed > 0 && !w.beat.received.IsZero()
}

// plan sets the time of the next check: after the configured interval, half of it under suspicion, or when the silence reaches a bound.
func (w *watch) plan(now, since time.Duration, t timeouts) {
	if w.pending {
		w.next = max(w.heard, since) + w.timeout(t)
		return
	}
	w.next = now + t.interval
	if !w.monitored(t) {
		return
	}
	silence := w.suspicion(t)
	if w.suspected {
		w.next, silence = now+t.interval/2, w.timeout(t)
	}
	w.next = min(w.next, max(max(w.heard, since)+silence, now))
}
