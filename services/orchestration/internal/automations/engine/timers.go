package engine

import (
	"container/heap"
	"strings"
	"sync"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/trigger"
)

// timers are the buckets that the clock concerns, earliest first in each workspace. A bucket has at most one timer.
type timers struct {
	mu       sync.Mutex
	queues   map[uuid.UUID]*timerHeap // By workspace; none is empty.
	byBucket map[uuid.UUID]*timer
	next     int64 // The earliest time that take returned; 0 means never.
	woken    chan struct{}
	// unsure are the buckets whose last write failed, but may have been applied. Their timers follow from the next read.
	unsure map[uuid.UUID]bool
}

type timer struct {
	workspace uuid.UUID
	bucket    uuid.UUID
	trigger   uuid.UUID
	key       []string
	due       int64
	index     int
}

// reset forgets all timers.
func (t *timers) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queues, t.byBucket, t.next = map[uuid.UUID]*timerHeap{}, map[uuid.UUID]*timer{}, 0
	t.unsure = map[uuid.UUID]bool{}
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
	if t.byBucket == nil {
		return // Nothing runs.
	}
	have := t.byBucket[id]
	switch {
	case b.Due == nil && have == nil:
	case b.Due == nil:
		heap.Remove(t.queues[ws], have.index)
		t.removed(have)
	case have != nil:
		have.due = b.GetDue()
		heap.Fix(t.queues[ws], have.index)
		t.wake(have)
	default:
		trigger, err := uuid.Parse(b.GetTriggerId())
		if err != nil {
			return
		}
		// The texts of a key may be slices of a whole batch of events, which a timer must not retain.
		key := make([]string, len(b.GetKey()))
		for i, text := range b.GetKey() {
			key[i] = strings.Clone(text)
		}
		t.add(&timer{workspace: ws, bucket: id, trigger: trigger, key: key, due: b.GetDue()})
	}
}

// written sets the timers of records that were written. After a failure any of them may be stored.
func (t *timers) written(records []*trigger.Record, err error) {
	if err == nil {
		for _, r := range records {
			t.set(r.Workspace, r.Bucket)
		}
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unsure == nil {
		return // Nothing runs.
	}
	for _, r := range records {
		t.unsure[r.ID] = true
	}
}

// read sets the timers of records whose last write failed.
func (t *timers) read(records []*trigger.Record) {
	for _, r := range t.takeUnsure(records) {
		t.set(r.Workspace, r.Bucket)
	}
}

func (t *timers) takeUnsure(records []*trigger.Record) (unsure []*trigger.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.unsure) == 0 {
		return nil
	}
	for _, r := range records {
		if t.unsure[r.ID] {
			delete(t.unsure, r.ID)
			unsure = append(unsure, r)
		}
	}
	return unsure
}

func (t *timers) add(one *timer) {
	queue := t.queues[one.workspace]
	if queue == nil {
		queue = &timerHeap{}
		t.queues[one.workspace] = queue
	}
	t.byBucket[one.bucket] = one
	heap.Push(queue, one)
	t.wake(one)
}

// removed drops what is known of a timer that left its queue.
func (t *timers) removed(one *timer) {
	delete(t.byBucket, one.bucket)
	if t.queues[one.workspace].Len() == 0 {
		delete(t.queues, one.workspace)
	}
}

// wake ends the wait for the next timer, if this one is earlier.
func (t *timers) wake(one *timer) {
	if t.next != 0 && one.due >= t.next {
		return
	}
	t.next = one.due
	select {
	case t.woken <- struct{}{}:
	default:
	}
}

// take removes and returns timers that are due, about n at most, and when the next one is; 0 means never. Workspaces have
// equal shares of n, so a workspace with many due timers does not delay those of the others.
func (t *timers) take(now int64, n int) (due []*timer, next int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var ready []*timerHeap
	for _, queue := range t.queues {
		if (*queue)[0].due <= now {
			ready = append(ready, queue)
		}
	}
	if n > 0 && len(ready) > 0 {
		perWorkspace := max(1, n/len(ready))
		for _, queue := range ready {
			for taken := 0; taken < perWorkspace && queue.Len() > 0 && (*queue)[0].due <= now; taken++ {
				first := heap.Pop(queue).(*timer)
				t.removed(first)
				due = append(due, first)
			}
		}
	}
	for _, queue := range t.queues {
		if first := (*queue)[0].due; next == 0 || first < next {
			next = first
		}
	}
	t.next = next
	return due, next
}

// back puts timers back that could not be served.
func (t *timers) back(list []*timer, due int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range list {
		if t.byBucket[one.bucket] == nil {
			one.due = due
			t.add(one)
		}
	}
}

// size is how many timers there are.
func (t *timers) size() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.byBucket)
}

type timerHeap []*timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].due < h[j].due }

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *timerHeap) Push(x any) {
	one := x.(*timer)
	one.index = len(*h)
	*h = append(*h, one)
}

func (h *timerHeap) Pop() any {
	old := *h
	one := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return one
}
