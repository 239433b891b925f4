package workpools

import (
	"cmp"
	"slices"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// ranked are priorities in their order. They are the caller's to change.
func ranked(priorities []*orchv1.WorkQueuePriority) []*orchv1.WorkQueuePriority {
	sorted := make([]*orchv1.WorkQueuePriority, len(priorities))
	for i, p := range priorities {
		sorted[i] = &orchv1.WorkQueuePriority{QueueId: p.GetQueueId(), Priority: p.GetPriority()}
	}
	slices.SortStableFunc(sorted, func(a, b *orchv1.WorkQueuePriority) int { return cmp.Compare(a.GetPriority(), b.GetPriority()) })
	return sorted
}

// setPriority gives a queue a priority. It comes before the first other queue with that priority or a higher one; those that are
// no longer above their predecessor move up by what it takes. Gaps stay.
func setPriority(priorities []*orchv1.WorkQueuePriority, queue string, priority int64) []*orchv1.WorkQueuePriority {
	others := without(priorities, queue)
	at := slices.IndexFunc(others, func(p *orchv1.WorkQueuePriority) bool { return p.GetPriority() >= priority })
	if at < 0 {
		at = len(others)
	}
	placed := slices.Insert(others, at, &orchv1.WorkQueuePriority{QueueId: queue, Priority: priority})
	var last int64
	for _, p := range placed {
		if p.GetPriority() <= last {
			p.Priority = last + 1
		}
		last = p.GetPriority()
	}
	return placed
}

// without takes a queue out.
func without(priorities []*orchv1.WorkQueuePriority, queue string) []*orchv1.WorkQueuePriority {
	return slices.DeleteFunc(ranked(priorities), func(p *orchv1.WorkQueuePriority) bool { return p.GetQueueId() == queue })
}

// firstFree is the lowest priority that no queue has.
func firstFree(priorities []*orchv1.WorkQueuePriority) int64 {
	var next int64 = 1
	for _, p := range ranked(priorities) {
		if p.GetPriority() > next {
			break
		}
		next = p.GetPriority() + 1
	}
	return next
}

// priorityOf is the priority of a queue. A queue whose creation was cut short has none; it comes last.
func priorityOf(pool *orchv1.WorkPool, queue string) int64 {
	var highest int64
	for _, p := range pool.GetPriorities() {
		if p.GetQueueId() == queue {
			return p.GetPriority()
		}
		highest = max(highest, p.GetPriority())
	}
	return highest + 1
}

// present fills in what a queue shows and its pool stores.
func present(queue *orchv1.WorkQueue, pool *orchv1.WorkPool) {
	queue.WorkPoolName = new(pool.GetName())
	queue.Priority = priorityOf(pool, queue.GetId())
}

// byPriority orders the queues of a pool, and fills in what they show.
func byPriority(queues []*orchv1.WorkQueue, pool *orchv1.WorkPool) {
	for _, queue := range queues {
		present(queue, pool)
	}
	slices.SortStableFunc(queues, func(a, b *orchv1.WorkQueue) int {
		return cmp.Or(cmp.Compare(a.GetPriority(), b.GetPriority()), cmp.Compare(a.GetId(), b.GetId()))
	})
}
