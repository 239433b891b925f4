package trigger

import (
	"bytes"
	"cmp"
	"container/list"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	// holdFor is how long an event waits for the one that it follows, counted from when it was received.
	holdFor = 15 * time.Minute
	// maxFollow bounds how far followers of followers are released at once; those beyond wait for their time.
	maxFollow = 20
	// maxDone bounds the remembered ids of events.
	maxDone = 100_000
	// maxHeld bounds the events that wait. Beyond, the oldest are released.
	maxHeld = 10_000
	// MaxHeldBytes bounds the memory of the events of a workspace that wait. Beyond, the oldest are released.
	MaxHeldBytes = 32 << 20
)

// Order brings the events of a workspace into the order that they ask for by `follows`, and drops duplicates:
//
//	arrives ──► done within 30 min? drop
//	       ──► follows an event that is not done? hold, 15 min at most
//	       ──► release, then the held events that follow it
//	too many or too large events are held? release the oldest
//
// It is used by one goroutine.
type Order struct {
	done     *finished
	deferred map[uuid.UUID]*Deferred // By the deferred event's id.
	// arrivals are the held events, the oldest first, and bytes is their memory.
	arrivals *list.List
	bytes    int
	// followers are the held events by their leader and their own id. No map in it is empty.
	followers map[uuid.UUID]map[uuid.UUID]*Deferred
	isLeader  func(leader uuid.UUID) bool
}

// Deferred is an event that waits for the one that it follows.
type Deferred struct {
	Event    *orchv1.ReceivedEvent
	Follows  uuid.UUID
	Received time.Time

	id      uuid.UUID
	bytes   int
	arrival *list.Element
}

// NewOrder returns an order that has seen nothing. Known reports whether an event was done before; nil means none was.
func NewOrder(isLeader func(leader uuid.UUID) bool) *Order {
	if isLeader == nil {
		isLeader = func(uuid.UUID) bool { return false }
	}
	return &Order{
		done: newFinished(maxDone), deferred: map[uuid.UUID]*Deferred{}, arrivals: list.New(),
		followers: map[uuid.UUID]map[uuid.UUID]*Deferred{}, isLeader: isLeader,
	}
}

// Deferred returns the events that wait, in no order.
func (o *Order) Deferred() map[uuid.UUID]*Deferred { return o.deferred }

// DeferredBytes is the memory of the events that wait.
func (o *Order) DeferredBytes() int { return o.bytes }

// Restore takes back events that were held when a process ended. It returns those that are to be evaluated, because more were held
// than may be.
func (o *Order) Restore(all []*Deferred, now time.Time) []*orchv1.ReceivedEvent {
	for _, h := range all {
		if id, err := uuid.Parse(h.Event.GetId()); err == nil {
			o.deferEvent(id, h)
		}
	}
	o.rebuild(o.deferred) // They came in no order.
	return o.releaseExcess(now, nil)
}

func (o *Order) deferEvent(id uuid.UUID, h *Deferred) {
	o.leave(id) // It may have come before, with another leader.
	h.id, h.bytes = id, memoryOf(h.Event)
	h.arrival = o.arrivals.PushBack(h)
	o.bytes += h.bytes
	o.deferred[id] = h
	if o.followers[h.Follows] == nil {
		o.followers[h.Follows] = map[uuid.UUID]*Deferred{}
	}
	o.followers[h.Follows][id] = h
}

// rebuild makes these the events that wait.
func (o *Order) rebuild(deferred map[uuid.UUID]*Deferred) {
	o.deferred = make(map[uuid.UUID]*Deferred, len(deferred))
	o.arrivals.Init()
	o.bytes = 0
	clear(o.followers)
	sorted := slices.SortedFunc(maps.Values(deferred), func(a, b *Deferred) int {
		return cmp.Or(a.Received.Compare(b.Received), bytes.Compare(a.id[:], b.id[:]))
	})
	for _, h := range sorted {
		o.deferEvent(h.id, h)
	}
}

// leave removes an event from those that wait, if it is one of them.
func (o *Order) leave(id uuid.UUID) {
	h := o.deferred[id]
	if h == nil {
		return
	}
	delete(o.deferred, id)
	o.arrivals.Remove(h.arrival)
	o.bytes -= h.bytes
	delete(o.followers[h.Follows], id)
	if len(o.followers[h.Follows]) == 0 {
		delete(o.followers, h.Follows)
	}
}

// Admit returns what is to be evaluated now that an event has arrived: nothing if it is a duplicate or has to wait, else
// the event and those that waited for it. If it has to wait and there is no room, the oldest waiting events are returned.
func (o *Order) Admit(e *orchv1.ReceivedEvent, received, now time.Time) []*orchv1.ReceivedEvent {
	id, err := uuid.Parse(e.GetId())
	if err != nil || o.isDone(id, now) {
		return nil
	}
	if e.Follows != nil {
		leader, err := uuid.Parse(e.GetFollows())
		_, waits := o.deferred[leader]
		if err == nil && leader != id && received.After(now.Add(-holdFor)) && !o.isDone(leader, now) && (waits || !o.isLeader(leader)) {
			o.deferEvent(id, &Deferred{Event: e, Follows: leader, Received: received})
			return o.releaseExcess(now, nil)
		}
	}
	return o.release(e, id, now, 0, nil)
}

// Expire returns the held events whose time is over, each with those that waited for it.
func (o *Order) Expire(now time.Time) []*orchv1.ReceivedEvent {
	var due []*Deferred
	for _, h := range o.deferred {
		if !h.Received.After(now.Add(-holdFor)) {
			due = append(due, h)
		}
	}
	sortByOccurred(due)
	var released []*orchv1.ReceivedEvent
	for _, h := range due {
		if o.deferred[h.id] == h {
			released = o.release(h.Event, h.id, now, 0, released)
		}
	}
	return released
}

// releaseExcess releases the oldest events while more are held than may be.
func (o *Order) releaseExcess(now time.Time, released []*orchv1.ReceivedEvent) []*orchv1.ReceivedEvent {
	for len(o.deferred) > maxHeld || o.bytes > MaxHeldBytes {
		oldest := o.arrivals.Front().Value.(*Deferred)
		released = o.release(oldest.Event, oldest.id, now, 0, released)
	}
	return released
}

func (o *Order) release(e *orchv1.ReceivedEvent, id uuid.UUID, now time.Time, depth int, released []*orchv1.ReceivedEvent) []*orchv1.ReceivedEvent {
	o.leave(id)
	o.finish(id, now)
	released = append(released, e)
	if depth == maxFollow || len(o.followers[id]) == 0 {
		return released
	}
	followers := slices.Collect(maps.Values(o.followers[id]))
	sortByOccurred(followers)
	for _, h := range followers {
		released = o.release(h.Event, h.id, now, depth+1, released)
	}
	return released
}

func sortByOccurred(deferred []*Deferred) {
	slices.SortFunc(deferred, func(a, b *Deferred) int {
		return a.Event.GetOccurred().AsTime().Compare(b.Event.GetOccurred().AsTime())
	})
}

func (o *Order) isDone(id uuid.UUID, now time.Time) bool {
	at := o.done.find(id)
	return at != nil && now.UnixMicro()-*at < dedupWindow
}

func (o *Order) finish(id uuid.UUID, now time.Time) {
	at := now.UnixMicro()
	o.done.set(id, at)
	for oldest, ok := o.done.oldest(); ok && at-oldest >= dedupWindow; oldest, ok = o.done.oldest() {
		o.done.drop()
	}
}

// Done notes that an event was done which nothing waits for and which waits for nothing.
func (o *Order) Done(id uuid.UUID, now time.Time) { o.finish(id, now) }

// Duplicates sets the times of events to those of their first evaluation, by another replica. The window of deduplication
// begins there.
func (o *Order) Duplicates(first map[uuid.UUID]int64) {
	for id, at := range first {
		if done := o.done.find(id); done != nil && at < *done {
			*done = at
		}
	}
}

// Undo takes back that events were released, and which events are held, after an evaluation was not committed: its events
// will come again.
func (o *Order) Undo(released []*orchv1.ReceivedEvent, deferred map[uuid.UUID]*Deferred) {
	undone := make(map[uuid.UUID]bool, len(released))
	for _, e := range released {
		if id, err := uuid.Parse(e.GetId()); err == nil {
			undone[id] = true
		}
	}
	o.done.forget(undone)
	o.rebuild(deferred)
}

// memoryOf estimates the memory of an event: its texts, and what maps and messages need besides them.
func memoryOf(e *orchv1.ReceivedEvent) int {
	const perMessage, perLabel = 512, 64
	n := perMessage + len(e.GetPayload()) + len(e.GetEvent()) + labelsOf(e.GetResource().GetLabels(), perLabel)
	for _, related := range e.GetRelated() {
		n += perMessage + labelsOf(related.GetLabels(), perLabel)
	}
	return n
}

func labelsOf(labels map[string]string, each int) (n int) {
	for name, value := range labels {
		n += each + len(name) + len(value)
	}
	return n
}
