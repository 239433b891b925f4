package broker

import "container/heap"

// fairQueue orders waiting requests by weighted fair queueing: all waiting requests share the credit evenly by events, as
// if they were served at once. A request's finish tag is the virtual time of its arrival plus its size. Virtual time
// advances by the served events, divided by the number of waiting requests. So a small request overtakes large ones, and
// none starves. Its owner's lock guards it.
type fairQueue struct {
	heap  requestHeap
	clock float64 // The virtual time, in events.
	order int64   // Arrivals, which decide between equal tags.
}

// queuedRequest waits for credit.
type queuedRequest struct {
	events   int
	tag      float64
	order    int64
	index    int           // In the heap; -1 when it left.
	admitted chan struct{} // Closed by pop.
}

func (q *fairQueue) empty() bool { return len(q.heap) == 0 }

// push queues a request of so many events.
func (q *fairQueue) push(events int) *queuedRequest {
	if q.empty() {
		q.clock = 0
	}
	q.order++
	r := &queuedRequest{events: events, tag: q.clock + float64(events), order: q.order, admitted: make(chan struct{})}
	heap.Push(&q.heap, r)
	return r
}

// pop admits the next request and returns its number of events.
func (q *fairQueue) pop() int {
	waiting := len(q.heap)
	r := heap.Pop(&q.heap).(*queuedRequest)
	q.clock += float64(r.events) / float64(waiting)
	close(r.admitted)
	return r.events
}

// remove drops a request that gives up. It returns false when the request was admitted before.
func (q *fairQueue) remove(r *queuedRequest) bool {
	if r.index < 0 {
		return false
	}
	heap.Remove(&q.heap, r.index)
	return true
}

// requestHeap implements heap.Interface.
type requestHeap []*queuedRequest

func (h requestHeap) Len() int { return len(h) }

func (h requestHeap) Less(i, j int) bool {
	if h[i].tag != h[j].tag {
		return h[i].tag < h[j].tag
	}
	return h[i].order < h[j].order
}

func (h requestHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *requestHeap) Push(x any) {
	r := x.(*queuedRequest)
	r.index = len(*h)
	*h = append(*h, r)
}

func (h *requestHeap) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	r.index = -1
	return r
}
