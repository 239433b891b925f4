package workpools

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// maxWorkers bounds the workers that are known of one pool. Beyond it, a new worker takes the place of one that is
	// offline; where all are online, it is refused.
	maxWorkers = 10_000
	// maxWorkerName bounds the name of a worker, in bytes.
	maxWorkerName = 1024
)

// wordOnline and wordOffline are the stored words of a worker's status.
const (
	wordOnline  = "ONLINE"
	wordOffline = "OFFLINE"
)

// WorkerHeartbeat records that a worker is alive.
func (s *Service) WorkerHeartbeat(ctx context.Context, r *orchv1.WorkerHeartbeatRequest) (*emptypb.Empty, error) {
	ws, pool, err := s.locate(ctx, r.GetWorkPoolName())
	if err != nil {
		return nil, err
	}
	beat := r.GetHeartbeat()
	return &emptypb.Empty{}, s.heartbeat(ctx, ws, pool, beat.GetName(), beat.HeartbeatIntervalSeconds)
}

// heartbeat records that a worker is alive, and makes its pool ready. An interval that is absent stays what it was.
func (p *Pools) heartbeat(ctx context.Context, ws uuid.UUID, pool *orchv1.WorkPool, name string, interval *int64) error {
	poolID, err := resourceid.Parse(pool.GetId())
	if err != nil {
		return err
	}
	if name == "" || len(name) > maxWorkerName {
		return rpc.Invalid(rpc.BodyError("value_error", "Value error, The name of a worker has 1 to 1024 bytes.", "name"))
	}
	for range 3 { // The worker may be deleted between the look and the write, or created by another heartbeat.
		err = p.beat(ctx, ws, poolID, name, interval)
		if !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrDuplicate) {
			break
		}
	}
	if err != nil || pool.GetStatus() != orchv1.WorkPoolStatus_WORK_POOL_STATUS_NOT_READY {
		return err
	}
	return p.setPoolStatus(ctx, ws, poolID, orchv1.WorkPoolStatus_WORK_POOL_STATUS_NOT_READY, orchv1.WorkPoolStatus_WORK_POOL_STATUS_READY)
}

func (p *Pools) beat(ctx context.Context, ws, pool uuid.UUID, name string, interval *int64) error {
	s := p.workers.Store()
	worker, err := p.worker(ctx, ws, pool, name)
	if errors.Is(err, store.ErrNotFound) {
		if err := p.admit(ctx, ws, pool); err != nil {
			return err
		}
		return p.workers.Insert(ctx, ws, &orchv1.Worker{
			Id: s.NewID().String(), Name: name, WorkPoolId: pool.String(), LastHeartbeatTime: timestamppb.New(s.Now()),
			HeartbeatIntervalSeconds: interval, Status: orchv1.WorkerStatus_WORKER_STATUS_ONLINE,
		})
	}
	if err != nil {
		return err
	}
	id, err := resourceid.Parse(worker.GetId())
	if err != nil {
		return err
	}
	_, err = p.workers.Mutate(ctx, ws, id, store.Edit(func(next *orchv1.Worker) error {
		next.LastHeartbeatTime, next.Status = timestamppb.New(s.Now()), orchv1.WorkerStatus_WORKER_STATUS_ONLINE
		if interval != nil {
			next.HeartbeatIntervalSeconds = interval
		}
		return nil
	}, nil))
	return err
}

// worker finds a worker of a pool by its name, or returns store.ErrNotFound.
func (p *Pools) worker(ctx context.Context, ws, pool uuid.UUID, name string) (*orchv1.Worker, error) {
	return p.workers.First(ctx, ws, bson.D{{Key: "work_pool_id", Value: store.Binary(pool)}, {Key: "name", Value: name}})
}

// LastHeartbeat returns the time and the interval of the heartbeats of a worker, or store.ErrNotFound.
func (p *Pools) LastHeartbeat(ctx context.Context, ws, pool uuid.UUID, name string) (time.Time, time.Duration, error) {
	worker, err := p.worker(ctx, ws, pool, name)
	if err != nil {
		return time.Time{}, 0, err
	}
	return worker.GetLastHeartbeatTime().AsTime(), heartbeatInterval(worker), nil
}

// admit makes room for another worker of a pool.
func (p *Pools) admit(ctx context.Context, ws, pool uuid.UUID) error {
	inPool := bson.E{Key: "work_pool_id", Value: store.Binary(pool)}
	n, err := p.workers.Count(ctx, ws, store.Query{Filter: bson.D{inPool}})
	if err != nil || n < maxWorkers {
		return err
	}
	offline, err := p.workers.Find(ctx, ws, store.Query{Filter: bson.D{inPool, {Key: "status", Value: wordOffline}}, Sort: bson.D{{Key: "last_heartbeat_time", Value: 1}}, Limit: 1})
	if err != nil {
		return err
	}
	if len(offline) == 0 {
		return rpc.Detail(http.StatusUnprocessableEntity, "The work pool has as many workers as it can have.")
	}
	id, err := resourceid.Parse(offline[0].GetId())
	if err != nil {
		return err
	}
	return p.workers.DeleteMany(ctx, ws, bson.D{{Key: "_id", Value: store.Binary(id)}})
}

// setPoolStatus changes the status of a pool that has one status to another, and tells of it.
func (p *Pools) setPoolStatus(ctx context.Context, ws, id uuid.UUID, from, to orchv1.WorkPoolStatus) error {
	_, err := p.pools.Mutate(ctx, ws, id, func(current *orchv1.WorkPool, _ int64) (*store.Change[*orchv1.WorkPool], error) {
		if current.Status == nil || current.GetStatus() != from {
			return nil, nil
		}
		next := proto.CloneOf(current)
		next.Status = to.Enum()
		published, err := p.poolStatusEvent(ws, next)
		if err != nil {
			return nil, err
		}
		return &store.Change[*orchv1.WorkPool]{Message: next, Effects: []store.Effect{published}}, nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
