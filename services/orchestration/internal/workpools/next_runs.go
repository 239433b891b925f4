package workpools

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/runorder"
)

const (
	// backlog is the number of due runs, above what a poll wants, up to which it reads all of them.
	backlog = 50
	// maxDeployments bounds the deployments of which a poll reads runs where weights order them: those with the least virtual time.
	maxDeployments = 100
	// deploymentsAtOnce is the number of deployments whose runs a poll reads at a time.
	deploymentsAtOnce = 10
)

// nextRuns returns the runs of a queue that a worker may start.
func (p *Pools) nextRuns(ctx context.Context, ws uuid.UUID, queue *orchv1.WorkQueue, within pollBounds, limit int64) ([]*orchv1.FlowRun, error) {
	id, err := resourceid.Parse(queue.GetId())
	if err != nil {
		return nil, err
	}
	return p.startable(ctx, ws, waitingInQueue(id, within), p.virtualTimes.copyOf(id), limit)
}

// NextRunsOf returns the runs of deployments that a process which serves them may start, in the order of package runorder, up to a
// scheduled start; nil is any. The result has runs that retry in their own process, and omits runs that would wait for slots.
func (p *Pools) NextRunsOf(ctx context.Context, ws uuid.UUID, deployments []uuid.UUID, before *time.Time, limit int64) ([]*orchv1.FlowRun, error) {
	return p.startable(ctx, ws, waitingOf(deployments, pollBounds{before: before, inProcess: true}), &runorder.VirtualTime{}, limit)
}

// startable returns the runs that may start, in the order of package runorder, without the runs that would wait for slots of their
// deployments. With many due runs the poll reads the first ones of deployments that have slots, so a deployment without slots hides
// none, whatever the number of its runs.
func (p *Pools) startable(ctx context.Context, ws uuid.UUID, waiting waitingRuns, virtual *runorder.VirtualTime, limit int64) ([]*orchv1.FlowRun, error) {
	due := waiting
	due.within = waiting.within.until(p.pools.Store().Now())
	many, err := p.moreThan(ctx, ws, due, limit+backlog)
	if err != nil {
		return nil, err
	}
	if many {
		return p.firstDue(ctx, ws, due, virtual, limit)
	}
	earliest, err := p.earliest(ctx, ws, waiting, limit+backlog)
	if err != nil {
		return nil, err
	}
	var deployments []uuid.UUID
	for _, run := range earliest {
		id, err := deploymentOf(run)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(deployments, id) {
			deployments = append(deployments, id)
		}
	}
	free, err := p.limits.FreeOf(ctx, ws, deployments)
	if err != nil {
		return nil, err
	}
	return p.withSlots(earliest, virtual, free, limit), nil
}

// withSlots returns the first runs in the order of package runorder that have a slot.
func (p *Pools) withSlots(scheduled []*orchv1.FlowRun, virtual *runorder.VirtualTime, free map[string]*int64, limit int64) []*orchv1.FlowRun {
	byID := make(map[string]*orchv1.FlowRun, len(scheduled))
	waiting := make([]runorder.Run, 0, len(scheduled))
	for _, run := range scheduled {
		if byID[run.GetId()] == nil {
			byID[run.GetId()] = run
			waiting = append(waiting, runorder.Waiting(run))
		}
	}
	var next []*orchv1.FlowRun
	taken := map[*int64]int64{} // Of the free slots of each limit.
	for _, run := range runorder.Order(waiting, virtual, p.pools.Store().Now()) {
		if int64(len(next)) == limit {
			break
		}
		if slots := free[run.Deployment]; slots != nil {
			if taken[slots] >= *slots {
				continue
			}
			taken[slots]++
		}
		next = append(next, byID[run.ID])
	}
	return next
}

// firstDue returns the first of many due runs.
func (p *Pools) firstDue(ctx context.Context, ws uuid.UUID, due waitingRuns, virtual *runorder.VirtualTime, limit int64) ([]*orchv1.FlowRun, error) {
	deployments, err := p.deploymentsWaiting(ctx, ws, due)
	if err != nil {
		return nil, err
	}
	free, err := p.limits.FreeOf(ctx, ws, deployments)
	if err != nil {
		return nil, err
	}
	weighted, err := p.anyWeighted(ctx, ws, due, deployments)
	if err != nil {
		return nil, err
	}
	first := firstDue{pools: p, ws: ws, due: due, virtual: virtual, free: free, limit: limit}
	open := first.open(deployments, nil)
	if len(weighted) > 0 {
		return first.byWeight(ctx, open, weighted)
	}
	return first.byRank(ctx, open)
}

// firstDue reads the first of many due runs. The pointers of free are the same for deployments that share a limit.
type firstDue struct {
	pools   *Pools
	ws      uuid.UUID
	due     waitingRuns
	virtual *runorder.VirtualTime
	free    map[string]*int64
	limit   int64
}

func (f firstDue) withSlots(read []*orchv1.FlowRun) []*orchv1.FlowRun {
	return f.pools.withSlots(read, f.virtual, f.free, f.limit)
}

// open returns the deployments that have more slots than these runs take.
func (f firstDue) open(deployments []uuid.UUID, next []*orchv1.FlowRun) []uuid.UUID {
	taken := map[*int64]int64{}
	for _, run := range next {
		taken[f.free[run.GetDeploymentId()]]++
	}
	return slices.DeleteFunc(slices.Clone(deployments), func(id uuid.UUID) bool {
		slots := f.free[id.String()]
		return slots != nil && taken[slots] >= *slots
	})
}

// byRank reads pages of runs by rank, each without the deployments whose slots the runs of the pages before take. A page that is full and
// takes no last slot has as many runs as the poll wants.
func (f firstDue) byRank(ctx context.Context, open []uuid.UUID) (next []*orchv1.FlowRun, err error) {
	var read []*orchv1.FlowRun
	for len(open) > 0 && int64(len(next)) < f.limit {
		page, err := f.pools.firstOf(ctx, f.ws, f.due, open, f.limit)
		if err != nil {
			return nil, err
		}
		read = append(read, page...)
		next = f.withSlots(read)
		if int64(len(page)) < f.limit {
			break
		}
		open = f.open(open, next)
	}
	return next, nil
}

// byWeight reads the first runs of each deployment, and more of a deployment as long as all that it read may start. Among the runs that were
// read is one with a weight, maybe of a deployment without slots.
func (f firstDue) byWeight(ctx context.Context, open []uuid.UUID, read []*orchv1.FlowRun) (next []*orchv1.FlowRun, err error) {
	open = f.virtual.Least(open, maxDeployments)
	for take := 2*f.limit/max(1, int64(len(open))) + 1; len(open) > 0; take *= 2 {
		first := make([][]*orchv1.FlowRun, len(open))
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(deploymentsAtOnce)
		for i, id := range open {
			group.Go(func() (err error) {
				first[i], err = f.pools.firstOf(ctx, f.ws, f.due, []uuid.UUID{id}, min(take, f.limit))
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return nil, err
		}
		read = append(read, slices.Concat(first...)...)
		next = f.withSlots(read)
		starts := map[string]int64{}
		for _, run := range next {
			starts[run.GetDeploymentId()]++
		}
		var more []uuid.UUID
		for i, id := range open {
			if n := int64(len(first[i])); n == take && n < f.limit && starts[first[i][0].GetDeploymentId()] >= n {
				more = append(more, id)
			}
		}
		open = more
	}
	return next, nil
}
