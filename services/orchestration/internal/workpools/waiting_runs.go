package workpools

import (
	"context"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// waitingRuns are the scheduled runs of a work queue, or of deployments, that a poll considers.
type waitingRuns struct {
	// scope is the filter of the queue; nil for runs of deployments.
	scope bson.D
	// deployments are nil for the runs of a queue.
	deployments []uuid.UUID
	within      pollBounds
	// starts and ranks are the keys of the indexes by start and by rank.
	starts, ranks bson.D
}

func waitingInQueue(queue uuid.UUID, within pollBounds) waitingRuns {
	return waitingRuns{
		scope: bson.D{{Key: "work_queue_id", Value: store.Binary(queue)}}, within: within,
		starts: query.FlowRunsByQueue, ranks: query.FlowRunsByRank,
	}
}

func waitingOf(deployments []uuid.UUID, within pollBounds) waitingRuns {
	return waitingRuns{deployments: deployments, within: within, starts: query.FlowRunsByDeployment, ranks: query.FlowRunsByDeployment}
}

// filter matches the runs as the index by start has them.
func (w waitingRuns) filter(within pollBounds) bson.D {
	if w.scope == nil {
		return append(ofDeployments(w.deployments), within.filter()...)
	}
	return append(append(bson.D{{Key: "state.type", Value: "SCHEDULED"}}, w.scope...), within.filter()...)
}

// filterOf matches the runs of some of the deployments.
func (w waitingRuns) filterOf(deployments []uuid.UUID) bson.D {
	return append(append(ofDeployments(deployments), w.scope...), w.within.filter()...)
}

// ofDeployments matches the runs of deployments. The zero id matches runs without a deployment.
func ofDeployments(deployments []uuid.UUID) bson.D {
	ids := make(bson.A, len(deployments))
	for i, id := range deployments {
		if id != uuid.Nil {
			ids[i] = store.Binary(id)
		}
	}
	return bson.D{{Key: "deployment_id", Value: bson.D{{Key: "$in", Value: ids}}}}
}

// moreThan reports whether there are more runs than a number. It counts keys of an index, retries in their own processes included.
func (p *Pools) moreThan(ctx context.Context, ws uuid.UUID, w waitingRuns, n int64) (bool, error) {
	count, err := p.runs.Count(ctx, ws, store.Query{Filter: w.filter(w.within.withRetries()), Limit: n + 1})
	return count > n, err
}

// earliest reads the first runs by their scheduled starts.
func (p *Pools) earliest(ctx context.Context, ws uuid.UUID, w waitingRuns, limit int64) ([]*orchv1.FlowRun, error) {
	return p.runs.Find(ctx, ws, store.Query{
		Index: w.starts, Filter: w.filter(w.within), Sort: bson.D{{Key: "next_scheduled_start_time", Value: 1}}, Limit: limit,
	})
}

// firstOf reads the first runs of some of the deployments by rank.
func (p *Pools) firstOf(ctx context.Context, ws uuid.UUID, w waitingRuns, deployments []uuid.UUID, limit int64) ([]*orchv1.FlowRun, error) {
	return p.runs.Find(ctx, ws, store.Query{
		Index: w.ranks, Filter: w.filterOf(deployments), Limit: limit,
		Sort: bson.D{{Key: "rank", Value: 1}, {Key: "next_scheduled_start_time", Value: 1}},
	})
}

// anyWeighted reads a run of some of the deployments that has a weight, or none.
func (p *Pools) anyWeighted(ctx context.Context, ws uuid.UUID, w waitingRuns, deployments []uuid.UUID) ([]*orchv1.FlowRun, error) {
	weighted := bson.E{Key: "weight", Value: bson.D{{Key: "$exists", Value: true}}}
	return p.runs.Find(ctx, ws, store.Query{Index: query.FlowRunsWithWeight, Filter: append(w.filterOf(deployments), weighted), Limit: 1})
}

// deploymentsWaiting returns the deployments of the runs; the zero id for runs without one. For a queue, the query reads one key of an index
// for each of them, and for each run that starts later but has a lower rank.
func (p *Pools) deploymentsWaiting(ctx context.Context, ws uuid.UUID, w waitingRuns) ([]uuid.UUID, error) {
	if w.scope == nil {
		return w.deployments, nil
	}
	var rows []struct {
		Deployment *bson.Binary `bson:"_id"`
	}
	group := bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$deployment_id"}}}}
	filter := append(append(bson.D(nil), w.scope...), w.within.withRetries().filter()...)
	if err := p.runs.Aggregate(ctx, ws, filter, []bson.D{group}, &rows); err != nil {
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

// deploymentOf returns the deployment of a run, and the zero id for a run without one.
func deploymentOf(run *orchv1.FlowRun) (uuid.UUID, error) {
	if run.DeploymentId == nil {
		return uuid.Nil, nil
	}
	return resourceid.Parse(run.GetDeploymentId())
}
