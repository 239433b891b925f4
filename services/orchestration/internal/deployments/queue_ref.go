package deployments

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/workpools"
)

// queueRef is the change of a deployment's pool and queue that a request asks for.
type queueRef struct {
	// changes says that the request names a pool or a queue, or takes them away.
	changes bool
	// pool is the pool that the request names; nil when it names none.
	pool  *orchv1.WorkPool
	queue *orchv1.WorkQueue
}

// queueNames names a pool and a queue; unset is none.
type queueNames interface {
	GetWorkPoolName() string
	GetWorkQueueName() string
}

// findQueue finds the pool and the queue that a request names:
//
//	pool and queue   that queue of that pool, which is created if it does not exist
//	pool             the pool's default queue
//	queue            the queue of the deployment's own pool; without one, of the pool of agents; it is created
//	pool is null     none any more
//
// An unknown pool is a 404. Current is the deployment that is changed, nil for one that is created.
func (s *Service) findQueue(ctx context.Context, ws uuid.UUID, r queueNames, mask []string, current *orchv1.Deployment) (queueRef, error) {
	pool := r.GetWorkPoolName()
	if pool == "" && r.GetWorkQueueName() != "" && !slices.Contains(mask, "work_pool_name") {
		pool = current.GetWorkPoolName()
	}
	var at workpools.QueueRef
	var err error
	switch {
	case pool != "":
		at, err = s.pools.Resolve(ctx, ws, pool, r.GetWorkQueueName())
	case r.GetWorkQueueName() != "":
		at, err = s.pools.Ensure(ctx, ws, r.GetWorkQueueName())
	default:
		return queueRef{changes: slices.Contains(mask, "work_pool_name")}, nil
	}
	return queueRef{changes: true, pool: at.Pool, queue: at.Queue}, err
}

// apply writes the place into a deployment.
func (p queueRef) apply(d *orchv1.Deployment) {
	if !p.changes {
		return
	}
	d.WorkPoolId, d.WorkPoolName, d.WorkQueueId, d.WorkQueueName = nil, nil, nil, nil
	if p.pool != nil {
		d.WorkPoolId, d.WorkPoolName = new(p.pool.GetId()), new(p.pool.GetName())
		d.WorkQueueId, d.WorkQueueName = new(p.queue.GetId()), new(p.queue.GetName())
	}
}

// poolOf is the pool of a deployment; nil when it has none.
func (s *Service) poolOf(ctx context.Context, ws uuid.UUID, d *orchv1.Deployment) (*orchv1.WorkPool, error) {
	if d.WorkPoolId == nil {
		return nil, nil
	}
	id, err := resourceid.Parse(d.GetWorkPoolId())
	if err != nil {
		return nil, err
	}
	pool, err := s.pools.Get(ctx, ws, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil // It was deleted, and the deployment does not know yet.
	}
	return pool, err
}

// checkJobVariables refuses a change of a deployment whose job variables do not fit the template of its pool.
func (s *Service) checkJobVariables(ctx context.Context, ws uuid.UUID, u *orchv1.DeploymentUpdate, at queueRef, current *orchv1.Deployment) error {
	if len(u.GetJobVariables()) == 0 {
		return nil
	}
	if err := s.runs.CheckOrder(nil, u.GetJobVariables()); err != nil {
		return err
	}
	pool := at.pool
	if !at.changes {
		var err error
		if pool, err = s.poolOf(ctx, ws, current); err != nil {
			return err
		}
	}
	if pool == nil {
		return nil
	}
	return s.pools.CheckJobVariables(pool, "updating deployment", false, u.GetJobVariables())
}

// queueOfRun returns a deployment's pool and queue, or the queue that its run names instead. All job variables must be present.
func (s *Service) queueOfRun(ctx context.Context, ws uuid.UUID, d *orchv1.Deployment, create *orchv1.DeploymentFlowRunCreate) (*orchv1.Deployment, error) {
	pool, err := s.poolOf(ctx, ws, d)
	if err != nil {
		return nil, err
	}
	at := &orchv1.Deployment{WorkPoolId: d.WorkPoolId, WorkPoolName: d.WorkPoolName, WorkQueueId: d.WorkQueueId, WorkQueueName: d.WorkQueueName}
	if pool == nil {
		if create.GetWorkQueueName() != "" {
			return nil, rpc.Detail(http.StatusBadRequest, fmt.Sprintf(
				"Cannot create a flow run for the work queue %q: the deployment %q has no work pool.", create.GetWorkQueueName(), d.GetName()))
		}
		return at, nil
	}
	if create.GetWorkQueueName() != "" {
		found, err := s.pools.Resolve(ctx, ws, pool.GetName(), create.GetWorkQueueName())
		if err != nil {
			return nil, err
		}
		queueRef{changes: true, pool: found.Pool, queue: found.Queue}.apply(at)
	}
	return at, s.pools.CheckJobVariables(pool, "creating flow run", true, d.GetJobVariables(), create.GetJobVariables())
}
