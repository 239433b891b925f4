package workpools

import (
	"context"
	"net/http"

	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// ReadWorkers returns the workers of a pool that match, the last seen first.
func (s *Service) ReadWorkers(ctx context.Context, r *orchv1.ReadWorkersRequest) (*orchv1.WorkerList, error) {
	q := r.GetQuery()
	ws, pool, err := s.locate(ctx, r.GetWorkPoolName())
	if err != nil {
		return nil, err
	}
	id, err := resourceid.Parse(pool.GetId())
	if err != nil {
		return nil, err
	}
	var criteria proto.Message
	if q.GetWorkers() != nil {
		criteria = q.GetWorkers()
	}
	compiled, err := query.Compile(criteria)
	if err != nil {
		return nil, err
	}
	filter, err := compiled.BSON()
	if err != nil {
		return nil, err
	}
	matching := bson.D{{Key: "work_pool_id", Value: store.Binary(id)}}
	if len(filter) > 0 {
		matching = append(matching, bson.E{Key: "$and", Value: bson.A{filter}})
	}
	workers, err := pagination.Find(ctx, s.workers, ws, matching, bson.D{{Key: "last_heartbeat_time", Value: -1}, {Key: "_id", Value: -1}}, q, r)
	return &orchv1.WorkerList{Workers: workers}, err
}

// DeleteWorker deletes a worker of a pool. A live worker comes back with its next heartbeat.
func (s *Service) DeleteWorker(ctx context.Context, r *orchv1.DeleteWorkerRequest) (*emptypb.Empty, error) {
	ws, pool, err := s.locate(ctx, r.GetWorkPoolName())
	if err != nil {
		return nil, err
	}
	id, err := resourceid.Parse(pool.GetId())
	if err != nil {
		return nil, err
	}
	filter := bson.D{{Key: "work_pool_id", Value: store.Binary(id)}, {Key: "name", Value: r.GetName()}}
	n, err := s.workers.Count(ctx, ws, store.Query{Filter: filter})
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, rpc.Detail(http.StatusNotFound, "Worker not found.")
	}
	return &emptypb.Empty{}, s.workers.DeleteMany(ctx, ws, filter)
}
