package engine

import (
	"container/heap"
	"sync"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// timers are the buckets that the clock concerns, earliest first. A bucket has at most one timer.
type timers struct {
	mu     sync.Mutex
	heap   timerHeap
	places map[uuid.UUID]*timer
	woken  chan struct{}
}

type timer struct {
	workspace uuid.UUID
	bucket    uuid.UUID
	trigger   uuid.UUID
	key       []string
	due       int64
	place     int
}

// reset forgets all timers.
func (t *timers) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heap, t.places = nil, map[uuid.UUID]*timer{}
	if t.woken == nil {
		t.woken = make(chan struct{}, 1)
	}
}

// set makes the timer of a bucket what the bucket says.
func (t *timers) set(ws uuid.UUID, b *orchv1.AutomationBucket) {
	id, err := uuid.Parse(b.GetId())
	if err != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.places == nil {
		return // Nothing runs.
	}
	have := t.places[id]
	switch {
	case b.Due == nil && have == nil:
		return
	case b.Due == nil:
		heap.Remove(&t.heap, have.place)
		delete(t.places, id)
		return
	case have != nil:
		have.due = b.GetDue()
		heap.Fix(&t.heap, have.place)
	default:
		trigger, err := uuid.Parse(b.GetTriggerId())
		if err != nil {
			return
		}
		have = &timer{workspace: ws, bucket: id, trigger: trigger, key: b.GetKey(), due: b.GetDue()}
		t.places[id] = have
		heap.Push(&t.heap, have)
	}
	if t.heap[0] == have {
		select {
		case t.woken <- struct{}{}:
		default:
		}
	}
}

// take removes and returns the timers that are due, n at most, and when the next one is; 0 means never.
func (t *timers) take(now int64, n int) (due []*timer, next int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.heap) > 0 && t.heap[0].due <= now && len(due) < n {
		first := heap.Pop(&t.heap).(*timer)
		delete(t.places, first.bucket)
		due = append(due, first)
	}
	if len(t.heap) > 0 {
		next = t.heap[0].due
	}
	return due, next
}

// back puts timers back that could not be served.
func (t *timers) back(list []*timer, due int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range list {
		if t.places[one.bucket] == nil {
			one.due = due
			t.places[one.bucket] = one
			heap.Push(&t.heap, one)
		}
	}
}

// size is how many timers there are.
func (t *timers) size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.heap)
}

type timerHeap []*timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].due < h[j].due }

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *timerHeap) Push(x any) {
	one := x.(*timer)
	one.place = len(*h)
	*h = append(*h, one)
}

func (h *timerHeap) Pop() any {
	old := *h
	one := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return one
}
