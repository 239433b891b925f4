package workpools

import (
	"context"
	"maps"
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
	// maxDeployments bounds the deployments of which a poll reads runs when there are more: those with the least virtual time.
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
	earliest, err := s.scheduled(ctx, ws, id, within, limit+backlog+1)
	if err != nil {
		return nil, err
	}
	deployments, err := deploymentsOf(earliest)
	if err != nil {
		return nil, err
	}
	now, virtual := s.runs.Store().Now(), s.virtualTimes.copyOf(id)
	if int64(len(earliest)) > limit+backlog && !earliest[len(earliest)-1].GetNextScheduledStartTime().AsTime().After(now) {
		within.before = &now
		if !slices.ContainsFunc(earliest, func(run *orchv1.FlowRun) bool { return s.order.Waiting(run).Weight > 0 }) {
			virtual = &runorder.VirtualTime{} // Without weights, earlier starts do not count.
		}
		return s.firstDue(ctx, ws, id, within, limit, virtual, deployments)
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
	within.inProcess = true // The index does not have the kinds of retries.
	filter := append(bson.D{{Key: "work_queue_id", Value: store.Binary(queue)}}, within.filter()...)
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

// firstDue returns the first due runs of a queue that has many. It reads the first runs by rank of each deployment, and more of those
// deployments of which all may start. The deployments of the earliest runs precede the others where there are too many.
func (s *Service) firstDue(
	ctx context.Context, ws, queue uuid.UUID, within pollBounds, limit int64, virtual *runorder.VirtualTime, earliest []uuid.UUID,
) ([]*orchv1.FlowRun, error) {
	others, err := s.waitingDeployments(ctx, ws, queue, within)
	if err != nil {
		return nil, err
	}
	deployments := append(earliest, slices.DeleteFunc(others, func(id uuid.UUID) bool { return slices.Contains(earliest, id) })...)
	free, err := s.FreeSlots(ctx, ws, deployments)
	if err != nil {
		return nil, err
	}
	startableOf := func(deployment uuid.UUID) int64 {
		if slots := free[deployment.String()]; slots != nil {
			return min(limit, *slots)
		}
		return limit
	}
	deployments = slices.DeleteFunc(deployments, func(id uuid.UUID) bool { return startableOf(id) <= 0 })
	deployments = virtual.Least(deployments, maxDeployments)
	due := map[uuid.UUID][]*orchv1.FlowRun{}
	for take := 1 + 2*limit/int64(max(1, len(deployments))); ; take *= 2 {
		first := make([][]*orchv1.FlowRun, len(deployments))
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(deploymentsAtOnce)
		for i, id := range deployments {
			group.Go(func() (err error) {
				first[i], err = s.firstOf(ctx, ws, queue, id, within, min(take, startableOf(id)))
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return nil, err
		}
		for i, id := range deployments {
			due[id] = first[i]
		}
		next := s.Startable(slices.Concat(slices.Collect(maps.Values(due))...), virtual, free, limit)
		chosen := map[uuid.UUID]int64{}
		for _, run := range next {
			id, err := deploymentOf(run)
			if err != nil {
				return nil, err
			}
			chosen[id]++
		}
		deployments = slices.DeleteFunc(deployments, func(id uuid.UUID) bool {
			read := int64(len(due[id]))
			return chosen[id] < read || read < take || take >= startableOf(id)
		})
		if len(deployments) == 0 {
			return next, nil
		}
	}
}

// firstOf reads the first due runs of a deployment in a queue by rank; the zero id is that of runs without a deployment.
func (s *Service) firstOf(ctx context.Context, ws, queue, deployment uuid.UUID, within pollBounds, limit int64) ([]*orchv1.FlowRun, error) {
	filter := bson.D{{Key: "work_queue_id", Value: store.Binary(queue)}, {Key: "deployment_id", Value: store.Binary(deployment)}}
	if deployment == uuid.Nil {
		filter[1].Value = nil
	}
	return s.runs.Find(ctx, ws, store.Query{
		Index: query.FlowRunsByRank, Filter: append(filter, within.filter()...), Limit: limit,
		Sort: bson.D{{Key: "rank", Value: 1}, {Key: "next_scheduled_start_time", Value: 1}},
	})
}
