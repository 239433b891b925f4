package trigger

import (
	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// lookBack is how long before its first event the first window of a trigger without `after` begins, in microseconds: late
// events count in it.
const lookBack = int64(15 * 60 * 1_000_000)

// countWindow is a bucket under evaluation.
type countWindow struct {
	*orchv1.AutomationBucket
	node  *Node
	now   int64
	fired []*orchv1.AutomationFiring
}

// open begins a window that has counted nothing.
func (w *countWindow) open(start, end int64, last *orchv1.ReceivedEvent) {
	w.Open, w.Start, w.End, w.Count = true, start, end, 0
	w.remember(last)
}

// remember sets the event that is the reason if the window ends without enough events. Reactive triggers need none.
func (w *countWindow) remember(last *orchv1.ReceivedEvent) {
	w.Last = nil
	if w.node.Proactive {
		w.Last = last
	}
}

// onlyExpects reports whether the trigger counts an event that begins no window.
func (n *Node) onlyExpects(e *orchv1.ReceivedEvent) bool {
	starts, expected := n.Filter.Matches(e)
	return expected && !starts
}

func (w *countWindow) close() {
	w.Open, w.Start, w.End, w.Count, w.Last = false, 0, 0, 0, nil
}

func (w *countWindow) fire(reason *orchv1.ReceivedEvent) {
	f := w.node.newFiring(w.AutomationBucket, w.now, reason)
	f.Labels, f.Count, f.Start, f.End = w.node.labels(w.GetKey()), w.Count, w.Start, w.End
	w.fired = append(w.fired, f)
}

// event applies an event that the trigger takes.
func (w *countWindow) event(id uuid.UUID, e *orchv1.ReceivedEvent, starts, expected bool) {
	n, at := w.node, e.GetOccurred().AsTime().UnixMicro()
	if n.holds() {
		w.expireHeld()
		if expected && !starts && w.hold(id, at) {
			return
		}
	}
	switch {
	case starts && w.Open && !expected && at >= w.End:
		// The window has ended and nobody looked: it is settled, and the start begins a new one.
		if n.Proactive && w.Count < n.Threshold {
			w.fire(w.Last)
		}
		w.open(at, at+n.Within, e)
		w.countHeld()
	case starts && w.Open: // The event that began the window remains its reason.
	case starts:
		w.open(at, at+n.Within, e)
		w.countHeld()
		if expected {
			w.Count-- // The start is counted below, and is none of the events that must follow it.
		}
	case !n.After && expected && !w.Open:
		w.open(at-lookBack, at+n.Within, nil)
	}
	if !expected || !w.Open {
		return
	}
	if n.Proactive {
		w.eventProactive(e, at, starts)
	} else {
		w.eventReactive(e, at)
	}
}

func (w *countWindow) eventReactive(e *orchv1.ReceivedEvent, at int64) {
	n := w.node
	switch {
	case at < w.Start: // Lost: it belongs to a window that is over.
	case n.Within == 0:
		w.Count++
		fires := w.Count >= n.Threshold
		if fires {
			w.fire(e)
		}
		if fires || n.After {
			w.close()
		}
	case at < w.End:
		w.Count++
		if w.Count < n.Threshold {
			return
		}
		w.fire(e)
		if n.After {
			w.close()
			return
		}
		w.open(w.End, w.End+n.Within, nil)
	default:
		if w.Count >= n.Threshold { // Only a threshold of 0 or less is reached without firing.
			w.fire(e)
		}
		if n.After {
			w.close()
			return
		}
		w.open(at, at+n.Within, nil)
		w.eventReactive(e, at)
	}
}

func (w *countWindow) eventProactive(e *orchv1.ReceivedEvent, at int64, starts bool) {
	n := w.node
	switch {
	case at < w.Start:
	case at < w.End:
		w.Count++
		last := w.Last
		w.Last = e
		if starts && w.Count >= n.Threshold { // A heartbeat.
			if last == nil || last.GetOccurred().AsTime().UnixMicro() < at || !n.onlyExpects(last) {
				last = e
			}
			w.open(at, at+n.Within, last)
			w.countHeld()
		}
	default:
		if w.Count < n.Threshold {
			w.fire(e)
		}
		if n.After {
			w.close()
			return
		}
		w.open(at, at+n.Within, e)
		w.Count = 1
	}
}

// tick looks at the clock.
func (w *countWindow) tick() {
	n := w.node
	if !n.Proactive || !w.Open {
		return
	}
	enough := w.Count >= n.Threshold
	switch {
	case enough && n.After:
		w.close()
	case w.now < w.End:
	case n.After:
		w.fire(w.Last)
		w.close()
	default:
		if !enough {
			w.fire(w.Last)
		}
		w.open(w.now, w.now+n.Within, nil)
	}
}

// due is when the clock has to be looked at; 0 means never.
func (w *countWindow) due() int64 {
	n := w.node
	switch {
	case !n.Proactive || !w.Open:
		return 0
	case n.After && w.Count >= n.Threshold:
		return w.now
	default:
		return w.End
	}
}
