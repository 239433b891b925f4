package storage

import (
	"runtime"
	"time"
)

const (
	// clockEvery is the number of keys between two readings of the clock, and yieldAfter the work between two yields. A key with a large
	// document is more work than a thousand others.
	clockEvery = 8
	yieldAfter = 64 * time.Microsecond
	// maxYielded is how many times longer than its work a compaction may wait by yields. Behind it writes would stall.
	maxYielded = 2
)

// yielder makes flushes and compactions yield the processor between keys. The scheduler preempts a goroutine only after ten
// milliseconds. Two compactions on two processors would delay every request of that moment by as much, at each of its steps.
type yielder struct {
	keys   int
	began  time.Time     // Of the work since the last yield.
	worked time.Duration // Until then.
	waited time.Duration
	sched  func() // runtime.Gosched, except in tests.
}

func newYielder() yielder { return yielder{began: time.Now(), sched: runtime.Gosched} }

// step counts a key, and yields when it is due.
func (y *yielder) step() {
	if y.keys++; y.keys < clockEvery {
		return
	}
	y.keys = 0
	now := time.Now()
	if now.Sub(y.began) < yieldAfter {
		return
	}
	y.worked += now.Sub(y.began)
	y.began = now
	if y.waited > maxYielded*y.worked {
		return
	}
	y.sched()
	y.began = time.Now()
	y.waited += y.began.Sub(now)
}
