package workpools

import (
	"context"
	"math"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// wordsOccupying are the types of states in which a run holds a slot of its queue and its pool.
var wordsOccupying = []string{"PENDING", "RUNNING"}

// occupying is the filter of the runs of a queue that hold slots, one for each type: each is a range of one index.
func occupying(queue uuid.UUID, name string) bson.D {
	return bson.D{{Key: "work_queue_id", Value: store.Binary(queue)}, {Key: "state.type", Value: name}}
}

// activeRuns is the number of runs that hold slots of a queue.
func (p *Pools) activeRuns(ctx context.Context, ws uuid.UUID, queue *orchv1.WorkQueue) (int64, error) {
	id, err := resourceid.Parse(queue.GetId())
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, name := range wordsOccupying {
		n, err := p.runs.Count(ctx, ws, store.Query{Filter: occupying(id, name)})
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// activeByQueue counts the runs that hold slots of queues, by queue, with one query.
func (p *Pools) activeByQueue(ctx context.Context, ws uuid.UUID, queues []*orchv1.WorkQueue) (map[string]int64, error) {
	taken := make(map[string]int64, len(queues))
	if len(queues) == 0 {
		return taken, nil
	}
	ids := make([]uuid.UUID, len(queues))
	for i, queue := range queues {
		var err error
		if ids[i], err = resourceid.Parse(queue.GetId()); err != nil {
			return nil, err
		}
	}
	var rows []struct {
		Queue bson.Binary `bson:"_id"`
		Runs  int64       `bson:"n"`
	}
	err := p.runs.Aggregate(ctx, ws,
		bson.D{{Key: "work_queue_id", Value: store.OneOf(ids)}, {Key: "state.type", Value: bson.D{{Key: "$in", Value: wordsOccupying}}}},
		[]bson.D{{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$work_queue_id"}, {Key: "n", Value: bson.D{{Key: "$sum", Value: 1}}}}}}}, &rows)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		id, err := uuid.FromBytes(row.Queue.Data)
		if err != nil {
			return nil, err
		}
		taken[id.String()] = row.Runs
	}
	return taken, nil
}

// unlimited is the number of free slots where there is no limit.
const unlimited = math.MaxInt64

// freeSlots is what a limit leaves when some slots are taken.
func freeSlots(limit *int64, taken int64) int64 {
	if limit == nil {
		return unlimited
	}
	return max(0, *limit-taken)
}

// queuesOf are the queues of a pool by priority.
func (p *Pools) queuesOf(ctx context.Context, ws uuid.UUID, pool *orchv1.WorkPool) ([]*orchv1.WorkQueue, error) {
	id, err := resourceid.Parse(pool.GetId())
	if err != nil {
		return nil, err
	}
	ofPool := bson.D{{Key: "work_pool_id", Value: store.Binary(id)}}
	queues, err := p.queues.Find(ctx, ws, store.Query{Index: query.WorkQueuesByPool, Filter: ofPool, Sort: bson.D{{Key: "name", Value: 1}}})
	if err != nil {
		return nil, err
	}
	byPriority(queues, pool)
	return queues, nil
}
