package workpools

import (
	"sync"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/runorder"
)

// maxVirtualTimes bounds the queues whose starts a process remembers; beyond it the process forgets all of them.
const maxVirtualTimes = 10_000

// virtualTimes are the starts of the runs of queues that this process has written. Each of several replicas sees a part of the starts, which has the
// proportions of all. A process remembers none when it starts.
type virtualTimes struct {
	mu     sync.Mutex
	queues map[uuid.UUID]*runorder.VirtualTime
}

// copyOf returns the virtual time of a queue, which is the caller's.
func (t *virtualTimes) copyOf(queue uuid.UUID) *runorder.VirtualTime {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.queues[queue].Clone()
}

// RunStarted counts the start of a run: a worker has claimed it.
func (p *Pools) RunStarted(run *orchv1.FlowRun) {
	queue, err := resourceid.Parse(run.GetWorkQueueId())
	if err != nil {
		return // The run has no queue.
	}
	t := &p.virtualTimes
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.queues == nil || t.queues[queue] == nil && len(t.queues) >= maxVirtualTimes {
		t.queues = map[uuid.UUID]*runorder.VirtualTime{}
	}
	if t.queues[queue] == nil {
		t.queues[queue] = &runorder.VirtualTime{}
	}
	t.queues[queue].Started(runorder.Waiting(run))
}
