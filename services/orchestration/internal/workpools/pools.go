package workpools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/concurrency"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Block returns the data of a workspace's block, without secrets, and whether there is one of that id.
type Block func(ctx context.Context, ws, id uuid.UUID) (data json.RawMessage, there bool, err error)

// Notify tells the channels of a pool's workers that the pool was changed.
type Notify func(ws, pool uuid.UUID)

// DefaultCleanupLease is the default of PoolsDeps.CleanupLease.
const DefaultCleanupLease = 30 * time.Second

// PoolsDeps are what Pools works with.
type PoolsDeps struct {
	Store      *store.Store
	Vocabulary vocabulary.Vocabulary
	Block      Block
	// Notify and NotifyCleanup may be nil.
	Notify, NotifyCleanup Notify
	// CleanupLease is how long a worker has a clean-up job until it renews its reservation.
	CleanupLease time.Duration
	// Limits are those of the deployments of waiting runs.
	Limits *concurrency.Limits
	// Flush executes the effects of a write before its call returns.
	Flush outbox.Flusher
	Log   *slog.Logger
}

// Pools finds, creates and changes pools and queues.
type Pools struct {
	pools   *store.Collection[*orchv1.WorkPool]
	queues  *store.Collection[*orchv1.WorkQueue]
	workers *store.Collection[*orchv1.Worker]
	runs    *store.Collection[*orchv1.FlowRun]
	// cleanups are the clean-up jobs, and notifyCleanup tells the channels of a pool that one may be free.
	cleanups      *store.Collection[*orchv1.CleanupJob]
	notifyCleanup Notify
	cleanupLease  time.Duration
	vocab         vocabulary.Vocabulary
	limits        *concurrency.Limits
	virtualTimes  virtualTimes
	block         Block
	notify        Notify
	flush         outbox.Flusher
	log           *slog.Logger
}

// NewPools returns the pools of a store.
func NewPools(d PoolsDeps) *Pools {
	if d.Notify == nil {
		d.Notify = func(uuid.UUID, uuid.UUID) {}
	}
	if d.NotifyCleanup == nil {
		d.NotifyCleanup = func(uuid.UUID, uuid.UUID) {}
	}
	return &Pools{
		pools:   store.NewCollection(d.Store, query.WorkPool, &orchv1.WorkPool{}),
		queues:  store.NewCollection(d.Store, query.WorkQueue, &orchv1.WorkQueue{}),
		workers: store.NewCollection(d.Store, query.Worker, &orchv1.Worker{}),
		runs:    store.NewCollection(d.Store, query.FlowRun, &orchv1.FlowRun{}),

		cleanups:      store.NewCollection(d.Store, query.CleanupJob, &orchv1.CleanupJob{}),
		notifyCleanup: d.NotifyCleanup, cleanupLease: cmp.Or(d.CleanupLease, DefaultCleanupLease),

		limits: d.Limits, vocab: d.Vocabulary, block: d.Block, notify: d.Notify, flush: d.Flush, log: d.Log,
	}
}

// QueueRef is where a run waits: a queue and its pool.
type QueueRef struct {
	Pool  *orchv1.WorkPool
	Queue *orchv1.WorkQueue
}

// agentPool is the pool of queues that are known without a pool.
const agentPool = "default-agent-pool"

// defaultQueue is the name of the queue that comes with a pool.
const defaultQueue = "default"

// agentType is the type of pools whose runs are started by agents, which send no heartbeats: these pools have no status.
const agentType = "prefect-agent"

func poolNotFound(name string) error {
	return rpc.Detail(http.StatusNotFound, fmt.Sprintf("Work pool \"%s\" not found.", name))
}

func queueNotFound(pool, queue string) error {
	return rpc.Detail(http.StatusNotFound, fmt.Sprintf("Work pool queue '%s/%s' not found.", pool, queue))
}

// pool finds a pool by its name, or returns a 404.
func (p *Pools) pool(ctx context.Context, ws uuid.UUID, name string) (*orchv1.WorkPool, error) {
	found, err := p.pools.Find(ctx, ws, store.Query{Index: query.WorkPoolsByName, Filter: bson.D{{Key: "name", Value: name}}, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, poolNotFound(name)
	}
	return found[0], nil
}

// queue finds a queue of a pool by its name, or returns a 404.
func (p *Pools) queue(ctx context.Context, ws uuid.UUID, pool *orchv1.WorkPool, name string) (*orchv1.WorkQueue, error) {
	queue, err := p.queueIn(ctx, ws, pool, name)
	if errors.Is(err, store.ErrNotFound) {
		return nil, queueNotFound(pool.GetName(), name)
	}
	return queue, err
}

// queueIn is queue with the error of the store.
func (p *Pools) queueIn(ctx context.Context, ws uuid.UUID, pool *orchv1.WorkPool, name string) (*orchv1.WorkQueue, error) {
	id, err := resourceid.Parse(pool.GetId())
	if err != nil {
		return nil, err
	}
	queue, err := p.queues.First(ctx, ws, bson.D{{Key: "work_pool_id", Value: store.Binary(id)}, {Key: "name", Value: name}})
	if err != nil {
		return nil, err
	}
	present(queue, pool)
	return queue, nil
}

// Resolve finds the queue of a pool that a deployment names; an empty name is the pool's default queue. A missing queue is created. An unknown pool is a 404.
func (p *Pools) Resolve(ctx context.Context, ws uuid.UUID, pool, queue string) (QueueRef, error) {
	return p.resolve(ctx, ws, pool, queue, true)
}

// Find is Resolve for a run: an unknown queue is a 404.
func (p *Pools) Find(ctx context.Context, ws uuid.UUID, pool, queue string) (QueueRef, error) {
	return p.resolve(ctx, ws, pool, queue, false)
}

func (p *Pools) resolve(ctx context.Context, ws uuid.UUID, poolName, queueName string, create bool) (QueueRef, error) {
	pool, err := p.pool(ctx, ws, poolName)
	if err != nil {
		return QueueRef{}, err
	}
	if queueName == "" {
		id, err := resourceid.Parse(pool.GetDefaultQueueId())
		if err != nil {
			return QueueRef{}, err
		}
		queue, err := p.queues.Get(ctx, ws, id)
		return QueueRef{pool, queue}, err
	}
	queue, err := p.queueIn(ctx, ws, pool, queueName)
	if errors.Is(err, store.ErrNotFound) {
		if !create {
			return QueueRef{}, queueNotFound(poolName, queueName)
		}
		queue, err = p.createQueue(ctx, ws, pool, &orchv1.WorkQueueCreate{Name: queueName, Description: new("")})
		if errors.Is(err, store.ErrDuplicate) { // Another call created it meanwhile.
			queue, err = p.queue(ctx, ws, pool, queueName)
		}
	}
	return QueueRef{pool, queue}, err
}

// Ensure finds the queue of the pool of agents that a deployment names without a pool, and creates a missing one. Such
// a queue is served before the others.
func (p *Pools) Ensure(ctx context.Context, ws uuid.UUID, queueName string) (QueueRef, error) {
	pool, err := p.agents(ctx, ws)
	if err != nil {
		return QueueRef{}, err
	}
	queue, err := p.queueIn(ctx, ws, pool, queueName)
	if errors.Is(err, store.ErrNotFound) {
		queue, err = p.createQueue(ctx, ws, pool, &orchv1.WorkQueueCreate{Name: queueName, Description: new(""), Priority: new(int64(1))})
		if errors.Is(err, store.ErrDuplicate) {
			queue, err = p.queue(ctx, ws, pool, queueName)
		}
	}
	return QueueRef{pool, queue}, err
}

// agents is the pool of agents, which is created with its first use.
func (p *Pools) agents(ctx context.Context, ws uuid.UUID) (*orchv1.WorkPool, error) {
	pool, err := p.pools.First(ctx, ws, bson.D{{Key: "name", Value: agentPool}})
	if !errors.Is(err, store.ErrNotFound) {
		return pool, err
	}
	pool, err = p.createPool(ctx, ws, &orchv1.WorkPoolCreate{Name: agentPool, Type: agentType})
	if errors.Is(err, store.ErrDuplicate) {
		return p.pool(ctx, ws, agentPool)
	}
	return pool, err
}

// FindQueue is where a run of a pool waits that names a queue; an empty name is the pool's default queue. A missing queue or pool is a 404.
func (p *Pools) FindQueue(ctx context.Context, ws uuid.UUID, pool, queue string) (flowruns.QueueRef, error) {
	at, err := p.Find(ctx, ws, pool, queue)
	return flowruns.QueueRef{
		PoolID: at.Pool.GetId(), PoolName: at.Pool.GetName(), QueueID: at.Queue.GetId(), QueueName: at.Queue.GetName(),
	}, err
}

// PoolType is the type of a pool, empty when there is none of that id. It never changes.
func (p *Pools) PoolType(ctx context.Context, ws, id uuid.UUID) (string, error) {
	pool, err := p.pools.Get(ctx, ws, id)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	return pool.GetType(), err
}

// Get returns a pool by its id, or store.ErrNotFound.
func (p *Pools) Get(ctx context.Context, ws, id uuid.UUID) (*orchv1.WorkPool, error) {
	return p.pools.Get(ctx, ws, id)
}
