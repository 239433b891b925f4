package workpools

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/coalesce"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
)

// Service serves work pools, their queues and their workers.
type Service struct {
	orchv1.UnimplementedWorkPoolServiceServer
	orchv1.UnimplementedWorkQueueServiceServer
	orchv1.UnimplementedCleanupJobServiceServer
	*Pools
	readiness   Readiness
	poolSource  pagination.Source[*orchv1.WorkPool]
	queueSource pagination.Source[*orchv1.WorkQueue]
	polls       polls
	reads       coalesce.Group[pollKey, []*orchv1.WorkerFlowRunResponse]
}

// Readiness tells of deployments that somebody polls, or that nobody polls any more.
type Readiness interface {
	// Ready marks the deployments of queues as polled now.
	Ready(ctx context.Context, ws uuid.UUID, queues []uuid.UUID) error
	// Unready marks those deployments as not ready that nobody has polled since a moment, nor their queues.
	Unready(ctx context.Context, since time.Time) error
}

// New returns the service of pools.
func New(pools *Pools, readiness Readiness) *Service {
	return &Service{
		Pools:       pools,
		readiness:   readiness,
		poolSource:  pagination.NewSource(pools.pools, orchv1.DeploymentSort_DEPLOYMENT_SORT_NAME_ASC),
		queueSource: pagination.NewSource(pools.queues, orchv1.DeploymentSort_DEPLOYMENT_SORT_NAME_ASC),
	}
}

// locate finds the pool that a call is about.
func (s *Service) locate(ctx context.Context, name string) (uuid.UUID, *orchv1.WorkPool, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return uuid.Nil, nil, err
	}
	pool, err := s.pool(ctx, info.Workspace, name)
	return info.Workspace, pool, err
}

// locateQueue finds the queue that a call is about, in its pool.
func (s *Service) locateQueue(ctx context.Context, poolName, name string) (uuid.UUID, QueueRef, error) {
	ws, pool, err := s.locate(ctx, poolName)
	if err != nil {
		return uuid.Nil, QueueRef{}, err
	}
	queue, err := s.queue(ctx, ws, pool, name)
	return ws, QueueRef{pool, queue}, err
}

// workQueueNotFound is the answer of the older API. It has three texts for it, which its clients look at.
func workQueueNotFound() error { return rpc.Detail(http.StatusNotFound, "work queue not found") }

func workQueueWithIDNotFound(id string) error {
	return rpc.ExceptionMessage(http.StatusNotFound, fmt.Sprintf("Work queue with id %s not found", id))
}
