package workpools

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReadWorkPoolQueue returns a queue of a pool by its name.
func (s *Service) ReadWorkPoolQueue(ctx context.Context, r *orchv1.ReadWorkPoolQueueRequest) (*orchv1.WorkQueue, error) {
	ws, queue, err := s.locateQueue(ctx, r.GetWorkPoolName(), r.GetName())
	if err != nil {
		return nil, err
	}
	return queue.Queue, s.countQueueSlots(ctx, ws, queue.Queue)
}

// ReadWorkPoolQueues returns the queues of a pool that match, by priority. A pool has few queues, so they are ranked here.
func (s *Service) ReadWorkPoolQueues(ctx context.Context, r *orchv1.ReadWorkPoolQueuesRequest) (*orchv1.WorkQueueList, error) {
	q := r.GetQuery()
	ws, pool, err := s.locate(ctx, r.GetWorkPoolName())
	if err != nil {
		return nil, err
	}
	poolID, err := resourceid.Parse(pool.GetId())
	if err != nil {
		return nil, err
	}
	var criteria proto.Message
	if q.GetWorkQueues() != nil {
		criteria = q.GetWorkQueues()
	}
	compiled, err := query.Compile(criteria)
	if err != nil {
		return nil, err
	}
	filter, err := compiled.BSON()
	if err != nil {
		return nil, err
	}
	matching := bson.D{{Key: "work_pool_id", Value: store.Binary(poolID)}}
	if len(filter) > 0 {
		matching = append(matching, bson.E{Key: "$and", Value: bson.A{filter}})
	}
	queues, err := s.queues.Find(ctx, ws, store.Query{Filter: matching, Sort: bson.D{{Key: "name", Value: 1}}, Bytes: store.MaxAnswerBytes})
	if err != nil {
		return nil, err
	}
	byPriority(queues, pool)
	if queues, err = pagination.Ranked(ctx, ws, queues, rankOf, q, r); err != nil {
		return nil, err
	}
	for _, queue := range queues {
		if err := s.countQueueSlots(ctx, ws, queue); err != nil {
			return nil, err
		}
	}
	return &orchv1.WorkQueueList{WorkQueues: queues}, nil
}

// rankOf returns what byPriority sorts by.
func rankOf(queue *orchv1.WorkQueue) (priority int64, id uuid.UUID) {
	id, _ = uuid.Parse(queue.GetId()) // Ids are stored as UUIDs.
	return queue.GetPriority(), id
}

// ReadWorkQueue returns a queue by its id.
func (s *Service) ReadWorkQueue(ctx context.Context, r *orchv1.ReadWorkQueueRequest) (*orchv1.WorkQueue, error) {
	ws, queue, err := s.locateID(ctx, r.GetId())
	if err != nil {
		return nil, translateQueue(err)
	}
	return queue.Queue, s.countQueueSlots(ctx, ws, queue.Queue)
}

// ReadWorkQueueByName returns a queue of the pool of agents.
func (s *Service) ReadWorkQueueByName(ctx context.Context, r *orchv1.ReadWorkQueueByNameRequest) (*orchv1.WorkQueue, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	pool, err := s.pools.First(ctx, info.Workspace, bson.D{{Key: "name", Value: agentPool}})
	if err != nil {
		return nil, translateQueue(err)
	}
	queue, err := s.queueIn(ctx, info.Workspace, pool, r.GetName())
	if err != nil {
		return nil, translateQueue(err)
	}
	return queue, s.countQueueSlots(ctx, info.Workspace, queue)
}

// ReadWorkQueues returns the queues of all pools that match, by name.
func (s *Service) ReadWorkQueues(ctx context.Context, r *orchv1.ReadWorkQueuesRequest) (*orchv1.WorkQueueList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	q := r.GetQuery()
	queues, err := s.queueSource.List(ctx, q, nil, q)
	if err != nil {
		return nil, err
	}
	pools := map[string]*orchv1.WorkPool{}
	for _, queue := range queues {
		pool, ok := pools[queue.GetWorkPoolId()]
		if !ok {
			if pool, err = s.poolOf(ctx, info.Workspace, queue); err != nil && !errors.Is(err, store.ErrNotFound) {
				return nil, err
			}
			pools[queue.GetWorkPoolId()] = pool
		}
		present(queue, pool)
		if err := s.countQueueSlots(ctx, info.Workspace, queue); err != nil {
			return nil, err
		}
	}
	return &orchv1.WorkQueueList{WorkQueues: queues}, nil
}

// locateID finds the queue that a call is about by its id. The error matches store.ErrNotFound when there is none.
func (s *Service) locateID(ctx context.Context, id string) (uuid.UUID, QueueRef, error) {
	ws, parsed, err := resourceid.FromRequest(ctx, id)
	if err != nil {
		return uuid.Nil, QueueRef{}, err
	}
	queue, err := s.queues.Get(ctx, ws, parsed)
	if err != nil {
		return uuid.Nil, QueueRef{}, err
	}
	pool, err := s.poolOf(ctx, ws, queue)
	if err != nil {
		return uuid.Nil, QueueRef{}, err
	}
	present(queue, pool)
	return ws, QueueRef{pool, queue}, nil
}

func (p *Pools) poolOf(ctx context.Context, ws uuid.UUID, queue *orchv1.WorkQueue) (*orchv1.WorkPool, error) {
	id, err := resourceid.Parse(queue.GetWorkPoolId())
	if err != nil {
		return nil, err
	}
	return p.pools.Get(ctx, ws, id)
}

func translateQueue(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return workQueueNotFound()
	}
	return err
}

// countQueueSlots fills in how many slots of a queue are taken, where it has a limit.
func (s *Service) countQueueSlots(ctx context.Context, ws uuid.UUID, queue *orchv1.WorkQueue) error {
	if queue.ConcurrencyLimit == nil {
		return nil
	}
	n, err := s.activeRuns(ctx, ws, queue)
	queue.ActiveSlots = &n
	return err
}
