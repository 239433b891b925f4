package trigger

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	// heldFor is how long an expected event is held after its evaluation, in microseconds: twice lookBack. It is also the
	// least range of times of the events that are held.
	heldFor = 2 * lookBack
	// maxHeldEvents bounds the held events of a bucket. The oldest ones beyond are forgotten.
	maxHeldEvents  = 4096
	heldEventBytes = 24
)

// heldEvent is an expected event that may be evaluated before the event that begins its window. All times are in
// microseconds since 1970.
type heldEvent struct {
	id        uint64
	occurred  int64
	evaluated int64
}

func compareHeld(a, b heldEvent) int {
	return cmp.Or(cmp.Compare(a.occurred, b.occurred), cmp.Compare(a.id, b.id))
}

// heldEvents decodes the held events of a bucket, in the order of their times.
func heldEvents(b *orchv1.AutomationBucket) []heldEvent {
	events := make([]heldEvent, 0, len(b.GetHeld())/heldEventBytes+1)
	for rest := b.GetHeld(); len(rest) >= heldEventBytes; rest = rest[heldEventBytes:] {
		events = append(events, heldEvent{
			id:        binary.BigEndian.Uint64(rest),
			occurred:  int64(binary.BigEndian.Uint64(rest[8:])),
			evaluated: int64(binary.BigEndian.Uint64(rest[16:])),
		})
	}
	return events
}

func setHeldEvents(b *orchv1.AutomationBucket, events []heldEvent) {
	b.Held = make([]byte, 0, len(events)*heldEventBytes)
	for _, h := range events {
		b.Held = binary.BigEndian.AppendUint64(b.Held, h.id)
		b.Held = binary.BigEndian.AppendUint64(b.Held, uint64(h.occurred))
		b.Held = binary.BigEndian.AppendUint64(b.Held, uint64(h.evaluated))
	}
}

// holds reports whether events are held that only the trigger expects. Events that also begin a window are not held.
func (n *Node) holds() bool { return n.Proactive && n.After }

// hold keeps an expected event for windows that begin later, and reports whether it was held already.
//
// Two rules keep the held events few, and each window counts as before up to its threshold:
//   - Events that are older than the newest one by heldFor and by the length of a window are forgotten.
//   - Time is divided into slots of the length of a window. Of the slot of the new event the first and the last events stay,
//     as many as the threshold each.
func (w *countWindow) hold(id uuid.UUID, occurred int64) (counted bool) {
	events, added := heldEvents(w.AutomationBucket), heldEvent{appliedID(id), occurred, w.now}
	if slices.ContainsFunc(events, func(h heldEvent) bool { return h.id == added.id }) {
		return true
	}
	at, _ := slices.BinarySearchFunc(events, added, compareHeld)
	events = slices.Insert(events, at, added)

	oldest := events[len(events)-1].occurred - max(heldFor, w.node.Within)
	events = slices.DeleteFunc(events, func(h heldEvent) bool { return h.occurred < oldest })
	if within := w.node.Within; within > 0 {
		slot := floorDiv(occurred, within)
		first := slices.IndexFunc(events, func(h heldEvent) bool { return floorDiv(h.occurred, within) >= slot })
		end := len(events)
		if first < 0 {
			first = end
		}
		for end > first && floorDiv(events[end-1].occurred, within) > slot {
			end--
		}
		kept := int(max(0, min(w.node.Threshold, maxHeldEvents)))
		if end-first > 2*kept {
			events = slices.Delete(events, first+kept, end-kept)
		}
	}
	setHeldEvents(w.AutomationBucket, events[max(0, len(events)-maxHeldEvents):])
	return false
}

// expireHeld forgets events that were evaluated long ago, unless a window has not ended.
func (w *countWindow) expireHeld() {
	if len(w.GetHeld()) == 0 || (w.Open && w.End > w.now) {
		return
	}
	events := heldEvents(w.AutomationBucket)
	remaining := slices.DeleteFunc(slices.Clone(events), func(h heldEvent) bool { return w.now-h.evaluated > heldFor })
	if len(remaining) != len(events) {
		setHeldEvents(w.AutomationBucket, remaining)
	}
}

// countHeld counts the held events that occurred in the window that has just begun.
func (w *countWindow) countHeld() {
	for _, h := range heldEvents(w.AutomationBucket) {
		if h.occurred >= w.Start && h.occurred < w.End {
			w.Count++
		}
	}
}

// floorDiv divides by a positive number and rounds down, also times before 1970.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
