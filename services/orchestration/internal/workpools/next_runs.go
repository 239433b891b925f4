package workpools

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/sync/errgroup"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/runorder"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// backlog is the number of due runs of a queue, above what a poll wants, up to which it reads all of them.
	backlog = 50
	// maxDeployments bounds the deployments of which a poll reads runs, beside those of the first runs by rank, when there are more: those
	// with the least virtual time.
	maxDeployments = 100
	// deploymentsAtOnce is the number of deployments whose runs a poll reads at a time.
	deploymentsAtOnce = 10
)

// nextRuns returns the runs of a queue that a worker may start, in the order of package runorder, without the runs that would wait for
// slots of their deployments. With many due runs the poll reads the first ones of each deployment, so a deployment without slots hides
// none, whatever the number of its runs.
func (s *Service) nextRuns(ctx context.Context, ws uuid.UUID, queue *orchv1.WorkQueue, within pollBounds, limit int64) ([]*orchv1.FlowRun, error) {
	id, err := resourceid.Parse(queue.GetId())
	if err != nil {
		return nil, err
	}
	virtual, due := s.virtualTimes.copyOf(id), within.until(s.runs.Store().Now())
	many, err := s.longerThan(ctx, ws, id, due, limit+backlog)
	if err != nil {
		return nil, err
	}
	if many {
		return s.firstDue(ctx, ws, id, due, limit, virtual)
	}
	earliest, err := s.scheduled(ctx, ws, id, within, limit+backlog)
	if err != nil {
		return nil, err
	}
	deployments, err := deploymentsOf(earliest)
	if err != nil {
		return nil, err
	}
	free, err := s.FreeSlots(ctx, ws, deployments)
	if err != nil {
		return nil, err
	}
	return s.Startable(earliest, virtual, free, limit), nil
}

// FreeSlots returns the numbers of free slots of deployments whose runs wait for one.
func (p *Pools) FreeSlots(ctx context.Context, ws uuid.UUID, deployments []uuid.UUID) (map[string]*int64, error) {
	return p.limits.FreeOf(ctx, ws, deployments)
}

// Startable returns the first runs in the order of package runorder that have a slot.
func (p *Pools) Startable(scheduled []*orchv1.FlowRun, virtual *runorder.VirtualTime, free map[string]*int64, limit int64) []*orchv1.FlowRun {
	byID := make(map[string]*orchv1.FlowRun, len(scheduled))
	waiting := make([]runorder.Run, 0, len(scheduled))
	for _, run := range scheduled {
		if byID[run.GetId()] == nil {
			byID[run.GetId()] = run
			waiting = append(waiting, p.order.Waiting(run))
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

// deploymentOf returns the deployment of a run, and the zero id for a run without one.
func deploymentOf(run *orchv1.FlowRun) (uuid.UUID, error) {
	if run.DeploymentId == nil {
		return uuid.Nil, nil
	}
	return resourceid.Parse(run.GetDeploymentId())
}

func deploymentsOf(runs []*orchv1.FlowRun) ([]uuid.UUID, error) {
	var ids []uuid.UUID
	for _, run := range runs {
		id, err := deploymentOf(run)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// waitingDeployments returns the deployments with due runs in a queue, and the zero id for runs without one. The query reads one key of an
// index for each of them, and for each run that starts later but has a lower rank.
func (s *Service) waitingDeployments(ctx context.Context, ws, queue uuid.UUID, within pollBounds) ([]uuid.UUID, error) {
	var rows []struct {
		Deployment *bson.Binary `bson:"_id"`
	}
	group := bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$deployment_id"}}}}
	filter := append(bson.D{{Key: "work_queue_id", Value: store.Binary(queue)}}, within.withRetries().filter()...)
	if err := s.runs.Aggregate(ctx, ws, filter, []bson.D{group}, &rows); err != nil {
		return nil, err
	}
	var ids []uuid.UUID
	for _, row := range rows {
		if row.Deployment == nil {
			ids = append(ids, uuid.Nil)
			continue
		}
		id, err := uuid.FromBytes(row.Deployment.Data)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// firstDue returns the first due runs of a queue that has many. It reads as many runs of each deployment as are among the first ones by rank,
// at least one, and more where weights order the runs and all of a deployment's may start.
func (s *Service) firstDue(
	ctx context.Context, ws, queue uuid.UUID, within pollBounds, limit int64, virtual *runorder.VirtualTime,
) ([]*orchv1.FlowRun, error) {
	waiting, err := s.waitingDeployments(ctx, ws, queue, within)
	if err != nil {
		return nil, err
	}
	free, err := s.FreeSlots(ctx, ws, waiting)
	if err != nil {
		return nil, err
	}
	startableOf := func(deployment uuid.UUID) int64 {
		if slots := free[deployment.String()]; slots != nil {
			return min(limit, *slots)
		}
		return limit
	}
	waiting = slices.DeleteFunc(waiting, func(id uuid.UUID) bool { return startableOf(id) <= 0 })
	if len(waiting) == 0 {
		return nil, nil
	}
	take, last, err := s.firstByRank(ctx, ws, queue, waiting, within, limit)
	if err != nil {
		return nil, err
	}
	weighted := func(run *orchv1.FlowRun) bool { return s.order.Waiting(run).Weight > 0 }
	beyond := func(run *orchv1.FlowRun) bool { return run.Rank != nil && run.GetRank().AsTime().UnixMicro() > last }
	others := slices.DeleteFunc(slices.Clone(waiting), func(id uuid.UUID) bool { return take[id] > 0 })
	for _, id := range virtual.Least(others, maxDeployments) {
		take[id] = 1
	}
	deployments := slices.Collect(maps.Keys(take))
	due := map[uuid.UUID][]*orchv1.FlowRun{}
	var next []*orchv1.FlowRun
	for len(deployments) > 0 {
		first := make([][]*orchv1.FlowRun, len(deployments))
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(deploymentsAtOnce)
		for i, id := range deployments {
			n := min(take[id], startableOf(id))
			take[id] = n
			group.Go(func() (err error) {
				first[i], err = s.firstOf(ctx, ws, queue, id, within, n)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return nil, err
		}
		for i, id := range deployments {
			due[id] = first[i]
		}
		read := slices.Concat(slices.Collect(maps.Values(due))...)
		next = s.Startable(read, virtual, free, limit)
		if (int64(len(next)) == limit || last == math.MaxInt64) && !slices.ContainsFunc(next, beyond) && !slices.ContainsFunc(read, weighted) {
			break
		}
		chosen := map[uuid.UUID]int64{}
		for _, run := range next {
			id, err := deploymentOf(run)
			if err != nil {
				return nil, err
			}
			chosen[id]++
		}
		deployments = slices.DeleteFunc(deployments, func(id uuid.UUID) bool {
			n := int64(len(due[id]))
			return chosen[id] < n || n < take[id] || take[id] >= startableOf(id)
		})
		for _, id := range deployments {
			take[id] = max(2*take[id], 2*limit/int64(len(take)))
		}
	}
	return next, nil
}

// firstByRank returns the deployments of the first due runs by rank, each with the number of its runs among them, and the last rank of these
// runs, which is math.MaxInt64 if there are no others. It reads keys of an index.
func (s *Service) firstByRank(
	ctx context.Context, ws, queue uuid.UUID, deployments []uuid.UUID, within pollBounds, limit int64,
) (runs map[uuid.UUID]int64, last int64, err error) {
	runs = map[uuid.UUID]int64{}
	var keys int64
	var failure error
	err = store.EachRaw(ctx, s.runs, ws, byRank(queue, deployments, within.withRetries(), limit, "deployment_id", "rank"), func(raw bson.Raw) bool {
		id := uuid.Nil
		if value := raw.Lookup("deployment_id"); value.Type == bson.TypeBinary {
			id, failure = store.UUID(value)
		}
		runs[id]++
		keys++
		last, _ = raw.Lookup("rank").AsInt64OK() // Runs of earlier versions have none.
		return failure == nil
	})
	if keys < limit {
		last = math.MaxInt64
	}
	return runs, last, errors.Join(err, failure)
}

// firstOf reads the first due runs of a deployment in a queue by rank; the zero id is that of runs without a deployment.
func (s *Service) firstOf(ctx context.Context, ws, queue, deployment uuid.UUID, within pollBounds, limit int64) ([]*orchv1.FlowRun, error) {
	return s.runs.Find(ctx, ws, byRank(queue, []uuid.UUID{deployment}, within, limit))
}

// byRank is the query of the first runs of deployments in a queue by rank; the zero id is that of runs without a deployment.
func byRank(queue uuid.UUID, deployments []uuid.UUID, within pollBounds, limit int64, fields ...string) store.Query {
	ids := make(bson.A, len(deployments))
	for i, id := range deployments {
		if id != uuid.Nil {
			ids[i] = store.Binary(id)
		}
	}
	filter := bson.D{{Key: "work_queue_id", Value: store.Binary(queue)}, {Key: "deployment_id", Value: bson.D{{Key: "$in", Value: ids}}}}
	return store.Query{
		Index: query.FlowRunsByRank, Filter: append(filter, within.filter()...), Limit: limit, Fields: fields,
		Sort: bson.D{{Key: "rank", Value: 1}, {Key: "next_scheduled_start_time", Value: 1}},
	}
}
