package broker

import "time"

// track is what was seen of a consumer in the last pressureWindow.
type track struct {
	at      time.Time // The last look.
	frames  int64     // That were settled, since the stream began.
	pending float64   // Events.
	busy    []stretch // The stretches between looks in which the consumer had something to do all the time, oldest first.
}

type stretch struct {
	end    time.Time
	took   time.Duration
	events float64 // That were settled.
}

// add notes a look: so many events are pending, so many were settled since the last one.
func (t *track) add(now progress, pending, settled float64) {
	took := now.at.Sub(t.at)
	// All that was settled lay there at the beginning, so the consumer never waited for work.
	if took > 0 && took <= pressureGap && settled <= t.pending && t.pending > 0 {
		t.busy = append(t.busy, stretch{now.at, took, settled})
	}
	first := 0
	for first < len(t.busy) && now.at.Sub(t.busy[first].end) >= pressureWindow {
		first++
	}
	t.busy = append(t.busy[:0], t.busy[first:]...)
	t.at, t.frames, t.pending = now.at, now.settled, pending
}

// behind is how long it will take to settle what is pending, and the rate that says so, in events a second: the better
// one of that of all the window and that of its later half, for a consumer that yields to a burst begins slowly. Both are
// 0 while too little was seen, or there was no progress of late.
func (t *track) behind() (time.Duration, float64) {
	var all, late stretch
	for _, s := range t.busy {
		all.took, all.events = all.took+s.took, all.events+s.events
	}
	if all.took < pressureWindow/2 {
		return 0, 0
	}
	for i := len(t.busy) - 1; i >= 0 && late.took < all.took/2; i-- {
		late.took, late.events = late.took+t.busy[i].took, late.events+t.busy[i].events
	}
	if late.events == 0 {
		return 0, 0
	}
	rate := max(all.rate(), late.rate())
	return time.Duration(t.pending / rate * float64(time.Second)), rate
}

func (s stretch) rate() float64 { return s.events / s.took.Seconds() }
