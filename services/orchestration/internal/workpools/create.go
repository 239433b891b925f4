package workpools

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// reserved tells whether a name is one of the pools that clients cannot create.
func reserved(name string) bool { return strings.HasPrefix(strings.ToLower(name), "prefect") }

// CreateWorkPool stores a pool with its default queue. A name that another pool has is a conflict.
func (s *Service) CreateWorkPool(ctx context.Context, r *orchv1.CreateWorkPoolRequest) (*orchv1.WorkPool, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	create := r.GetWorkPool()
	if strings.Trim(create.GetName(), `'" `) == "" {
		return nil, rpc.Invalid(rpc.BodyError("value_error", "Value error, name cannot be an empty string", "name"))
	}
	if reserved(create.GetName()) {
		return nil, rpc.Detail(http.StatusForbidden, "Work pools starting with 'Prefect' are reserved for internal use.")
	}
	if err := s.checkTemplate(ctx, info.Workspace, create.GetBaseJobTemplate(), true); err != nil {
		return nil, err
	}
	pool, err := s.createPool(ctx, info.Workspace, create)
	if errors.Is(err, store.ErrDuplicate) {
		return nil, rpc.Detail(http.StatusConflict, "A work pool with this name already exists.")
	}
	if err != nil {
		return nil, err
	}
	if pool.ConcurrencyLimit != nil {
		pool.ActiveSlots = new(int64(0))
	}
	return pool, nil
}

// createPool stores a pool with its default queue. The error matches store.ErrDuplicate when the name is taken.
func (p *Pools) createPool(ctx context.Context, ws uuid.UUID, create *orchv1.WorkPoolCreate) (*orchv1.WorkPool, error) {
	s := p.pools.Store()
	pool := &orchv1.WorkPool{
		Id:                   s.NewID().String(),
		Name:                 create.GetName(),
		Description:          create.Description,
		Type:                 create.GetType(),
		BaseJobTemplate:      create.GetBaseJobTemplate(),
		IsPaused:             create.GetIsPaused(),
		ConcurrencyLimit:     create.ConcurrencyLimit,
		StorageConfiguration: create.GetStorageConfiguration(),
	}
	if pool.StorageConfiguration == nil {
		pool.StorageConfiguration = &orchv1.WorkPoolStorageConfiguration{}
	}
	if pool.GetType() != agentType {
		pool.Status = orchv1.WorkPoolStatus_WORK_POOL_STATUS_NOT_READY.Enum()
		if pool.GetIsPaused() {
			pool.Status = orchv1.WorkPoolStatus_WORK_POOL_STATUS_PAUSED.Enum()
		}
	}
	queue := newQueue(s, pool.GetId(), &orchv1.WorkQueueCreate{Name: defaultQueue, Description: new("The work pool's default queue.")})
	pool.DefaultQueueId = &queue.Id
	pool.Priorities = setPriority(nil, queue.GetId(), 1)
	created, err := p.poolEvent(ws, pool, "created", nil)
	if err != nil {
		return nil, err
	}
	queueCreated, err := p.queueEvent(ws, queue, pool, "created", nil)
	if err != nil {
		return nil, err
	}
	status, err := p.poolStatusEvent(ws, pool)
	if err != nil {
		return nil, err
	}
	// The queue is written first: a pool without its default queue could not be used. If the pool's name is taken, the
	// queue goes; after a crash in between, it belongs to no pool and nobody finds it.
	if err := p.queues.Insert(ctx, ws, queue); err != nil {
		return nil, err
	}
	if err := p.pools.Insert(ctx, ws, pool, queueCreated, created, status); err != nil {
		return nil, errors.Join(err, p.discard(ctx, ws, queue))
	}
	return pool, nil
}
