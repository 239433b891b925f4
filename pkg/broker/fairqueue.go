package broker

import "github.com/orch-project/orch/pkg/fair"

// fairQueue orders waiting requests by weighted fair queueing: all waiting requests share the credit evenly by events, as
// if they were served at once. A request's finish is the virtual time of its arrival plus its size. Virtual time
// advances by the served events, divided by the number of waiting requests. Its owner's lock guards it.
type fairQueue struct {
	waiting fair.Queue[*queuedRequest]
	clock   float64 // The virtual time, in events.
}

// queuedRequest waits for credit.
type queuedRequest struct {
	events   int
	admitted chan struct{} // Closed by pop.
	item     *fair.Item[*queuedRequest]
}

func (q *fairQueue) empty() bool { return q.waiting.Len() == 0 }

// push queues a request of so many events.
func (q *fairQueue) push(events int) *queuedRequest {
	if q.empty() {
		q.clock = 0
	}
	r := &queuedRequest{events: events, admitted: make(chan struct{})}
	r.item = q.waiting.Push(r, q.clock+float64(events))
	return r
}

// pop admits the next request and returns its number of events.
func (q *fairQueue) pop() int {
	next := q.waiting.First()
	r := next.Value
	q.clock += float64(r.events) / float64(q.waiting.Len())
	q.waiting.Remove(next)
	close(r.admitted)
	return r.events
}

// remove drops a request that gives up. It returns false when the request was admitted before.
func (q *fairQueue) remove(r *queuedRequest) bool { return q.waiting.Remove(r.item) }
