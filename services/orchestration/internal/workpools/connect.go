package workpools

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/jobtemplate"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ConnectWorker begins the channel of a worker. An unknown pool or queue is a 404, a reserved name a 403; an invalid template is a 422. The gateway translates them into the ends of the channel.
func (s *Service) ConnectWorker(ctx context.Context, r *orchv1.ConnectWorkerRequest) (*orchv1.ConnectWorkerResponse, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	ws := info.Workspace
	pool, err := s.connectPool(ctx, ws, r)
	if err != nil {
		return nil, err
	}
	all, err := s.queuesOf(ctx, ws, pool)
	if err != nil {
		return nil, err
	}
	queues, err := named(all, pool, r.GetWorkQueueNames())
	if err != nil {
		return nil, err
	}
	if err := s.fillTemplate(ctx, ws, pool, r.GetDefaultBaseJobTemplate()); err != nil {
		return nil, err
	}
	if err := s.heartbeat(ctx, ws, pool, r.GetWorkerName(), new(r.GetHeartbeatIntervalSeconds())); err != nil {
		return nil, err
	}
	if pool, err = s.pool(ctx, ws, r.GetWorkPoolName()); err != nil {
		return nil, err
	}
	return &orchv1.ConnectWorkerResponse{WorkPool: pool, WorkQueues: queues}, s.countSlots(ctx, ws, pool)
}

// connectPool finds the pool of a worker, or creates it where the worker asks for that.
func (s *Service) connectPool(ctx context.Context, ws uuid.UUID, r *orchv1.ConnectWorkerRequest) (*orchv1.WorkPool, error) {
	pool, err := s.pool(ctx, ws, r.GetWorkPoolName())
	if err == nil || rpc.HTTPError(err).GetStatus() != http.StatusNotFound || !r.GetCreatePoolIfNotFound() {
		return pool, err
	}
	if reserved(r.GetWorkPoolName()) {
		return nil, rpc.Detail(http.StatusForbidden, "Work pools starting with 'Prefect' are reserved for internal use.")
	}
	if err := s.checkTemplate(ctx, ws, r.GetDefaultBaseJobTemplate(), true); err != nil {
		return nil, err
	}
	pool, err = s.createPool(ctx, ws, &orchv1.WorkPoolCreate{
		Name: r.GetWorkPoolName(), Type: r.GetWorkerType(), BaseJobTemplate: r.GetDefaultBaseJobTemplate(),
	})
	if errors.Is(err, store.ErrDuplicate) { // Another worker was faster.
		return s.pool(ctx, ws, r.GetWorkPoolName())
	}
	return pool, err
}

// fillTemplate gives a pool without a template that of its first worker.
func (s *Service) fillTemplate(ctx context.Context, ws uuid.UUID, pool *orchv1.WorkPool, template []byte) error {
	if !jobtemplate.Empty(pool.GetBaseJobTemplate()) || jobtemplate.Empty(template) {
		return nil
	}
	if err := s.checkTemplate(ctx, ws, template, true); err != nil {
		return err
	}
	return s.changePool(ctx, ws, pool, func(next *orchv1.WorkPool) error {
		if jobtemplate.Empty(next.GetBaseJobTemplate()) {
			next.BaseJobTemplate = template
		}
		return nil
	}, false)
}
