// Package fair orders waiting work by virtual time, as weighted fair queueing does: the work comes first that would end first if all
// progressed at the same speed. So small work overtakes large work, and none starves.
package fair

import "container/heap"

// Queue has work in the order of its virtual finish, and of its arrival if that is equal. The zero value is empty. Its owner's lock guards
// it.
type Queue[T any] struct {
	items    items[T]
	arrivals int64
}

// Item is work in a queue.
type Item[T any] struct {
	Value  T
	Finish float64

	arrival int64
	index   int // In the heap; -1 when it left.
}

// Push adds work.
func (q *Queue[T]) Push(value T, finish float64) *Item[T] {
	q.arrivals++
	i := &Item[T]{Value: value, Finish: finish, arrival: q.arrivals}
	heap.Push(&q.items, i)
	return i
}

// First returns the first item, or nil if the queue is empty.
func (q *Queue[T]) First() *Item[T] {
	if len(q.items) == 0 {
		return nil
	}
	return q.items[0]
}

// Remove removes an item. It returns false when the item has left before.
func (q *Queue[T]) Remove(i *Item[T]) bool {
	if i.index < 0 {
		return false
	}
	heap.Remove(&q.items, i.index)
	return true
}

// Len returns the number of items.
func (q *Queue[T]) Len() int { return len(q.items) }

// items implements heap.Interface.
type items[T any] []*Item[T]

func (h items[T]) Len() int { return len(h) }

func (h items[T]) Less(i, j int) bool {
	if h[i].Finish != h[j].Finish {
		return h[i].Finish < h[j].Finish
	}
	return h[i].arrival < h[j].arrival
}

func (h items[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *items[T]) Push(x any) {
	i := x.(*Item[T])
	i.index = len(*h)
	*h = append(*h, i)
}

func (h *items[T]) Pop() any {
	last := len(*h) - 1
	i := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	i.index = -1
	return i
}
