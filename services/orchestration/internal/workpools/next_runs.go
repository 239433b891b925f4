package workpools

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/runorder"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// backlog is the number of due runs of a queue, above what a poll wants, up to which it reads all of them.
	backlog = 50
	// maxDeployments bounds the deployments of which a poll reads runs when there are more. Those come first that had fewest starts.
	maxDeployments = 100
)

// nextRuns returns the runs of a queue that a worker may start, in the order of package runorder, without the runs that would wait for
// slots of their deployments. With many due runs the poll reads the first ones of each deployment, so a deployment without slots hides
// none, whatever the number of its runs.
func (s *Service) nextRuns(ctx context.Context, ws uuid.UUID, queue *orchv1.WorkQueue, within pollBounds, limit int64) ([]*orchv1.FlowRun, error) {
	id, err := resourceid.Parse(queue.GetId())
	if err != nil {
		return nil, err
	}
	due, err := s.scheduled(ctx, ws, id, within, limit+backlog+1)
	if err != nil {
		return nil, err
	}
	complete := int64(len(due)) <= limit+backlog
	var deployments []uuid.UUID
	if complete {
		deployments, err = deploymentsOf(due)
	} else {
		deployments, err = s.waitingDeployments(ctx, ws, id, within)
	}
	if err != nil {
		return nil, err
	}
	free, err := s.FreeSlots(ctx, ws, deployments)
	if err != nil {
		return nil, err
	}
	virtual := s.virtualTimes.copyOf(id)
	if !complete {
		if due, err = s.firstRuns(ctx, ws, id, within, limit, virtual.Least(deployments, maxDeployments), free, due); err != nil {
			return nil, err
		}
	}
	return s.Startable(due, virtual, free, limit), nil
}

// FreeSlots returns the numbers of free slots of deployments whose runs wait for one.
func (p *Pools) FreeSlots(ctx context.Context, ws uuid.UUID, deployments []uuid.UUID) (map[string]*int64, error) {
	return p.limits.FreeOf(ctx, ws, deployments)
}

// Startable returns the first runs in the order of package runorder that have a slot, and takes their slots from the free ones.
func (p *Pools) Startable(due []*orchv1.FlowRun, virtual *runorder.VirtualTime, free map[string]*int64, limit int64) []*orchv1.FlowRun {
	byID := make(map[string]*orchv1.FlowRun, len(due))
	waiting := make([]runorder.Run, 0, len(due))
	for _, run := range due {
		if byID[run.GetId()] == nil {
			byID[run.GetId()] = run
			waiting = append(waiting, p.order.Waiting(run))
		}
	}
	var next []*orchv1.FlowRun
	for _, run := range runorder.Order(waiting, virtual) {
		if int64(len(next)) == limit {
			break
		}
		if slots := free[run.Deployment]; slots != nil {
			if *slots <= 0 {
				continue
			}
			*slots--
		}
		next = append(next, byID[run.ID])
	}
	return next
}

func deploymentsOf(runs []*orchv1.FlowRun) ([]uuid.UUID, error) {
	var ids []uuid.UUID
	for _, run := range runs {
		if run.DeploymentId == nil {
			continue
		}
		id, err := resourceid.Parse(run.GetDeploymentId())
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
// index for each of them, and for each of their runs that starts later.
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

// firstRuns adds the first runs by rank of each deployment with free slots.
func (s *Service) firstRuns(
	ctx context.Context, ws, queue uuid.UUID, within pollBounds, limit int64, deployments []uuid.UUID, free map[string]*int64, runs []*orchv1.FlowRun,
) ([]*orchv1.FlowRun, error) {
	for _, id := range deployments {
		take := limit
		if slots := free[id.String()]; slots != nil {
			take = min(take, *slots)
		}
		if take <= 0 {
			continue
		}
		filter := bson.D{{Key: "work_queue_id", Value: store.Binary(queue)}, {Key: "deployment_id", Value: store.Binary(id)}}
		if id == uuid.Nil {
			filter[1].Value = nil
		}
		found, err := s.runs.Find(ctx, ws, store.Query{
			Index: query.FlowRunsByRank, Filter: append(filter, within.filter()...), Limit: take,
			Sort: bson.D{{Key: "rank", Value: 1}, {Key: "next_scheduled_start_time", Value: 1}},
		})
		if err != nil {
			return nil, err
		}
		runs = append(runs, found...)
	}
	return runs, nil
}
