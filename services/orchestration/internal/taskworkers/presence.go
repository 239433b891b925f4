package taskworkers

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/feeds"
	"github.com/orch-project/orch/pkg/request"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

const (
	// absent is the silence after which a worker counts as disconnected: its gateway died with the connection.
	absent = 3*feeds.TaskPoll + feeds.TaskPoll/2
	// forgotten is the silence after which its record is deleted.
	forgotten = time.Hour
	// maxWorkers bounds the list of workers.
	maxWorkers = 1000
)

// workerID returns the id of the worker with a name.
func workerID(ws uuid.UUID, identifier string) uuid.UUID { return uuid.NewSHA1(ws, []byte(identifier)) }

// see records a worker's heartbeat. It skips the write when nothing changed recently, because the worker polls again
// soon.
func (s *Service) see(ctx context.Context, ws uuid.UUID, identifier string, keys []string) error {
	now := s.workers.Store().Now()
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	id := workerID(ws, identifier)
	heartbeat := func(current *orchv1.TaskWorker, _ int64) (*store.Change[*orchv1.TaskWorker], error) {
		silence := now.Sub(current.GetTimestamp().AsTime()) // Negative after the clock stepped back.
		if silence >= 0 && silence < feeds.TaskPoll/2 && slices.Equal(current.GetTaskKeys(), keys) {
			return nil, nil
		}
		next := proto.CloneOf(current)
		next.Timestamp, next.TaskKeys = timestamppb.New(now), keys
		return &store.Change[*orchv1.TaskWorker]{Message: next}, nil
	}
	_, err := s.workers.Mutate(ctx, ws, id, heartbeat)
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	// A new worker connects: delete the records of workers that disappeared.
	for _, disappeared := range []bson.D{
		{{Key: "$lt", Value: now.Add(-forgotten).UnixMicro()}},
		{{Key: "$gt", Value: now.Add(forgotten).UnixMicro()}},
	} {
		if err := s.workers.DeleteMany(ctx, ws, bson.D{{Key: "timestamp", Value: disappeared}}); err != nil {
			return err
		}
	}
	err = s.workers.Insert(ctx, ws, &orchv1.TaskWorker{
		Id: id.String(), Identifier: identifier, TaskKeys: keys, Timestamp: timestamppb.New(now),
	})
	if errors.Is(err, store.ErrDuplicate) { // Another connection of the same worker was faster.
		return nil
	}
	return err
}

// LeaveTaskWorker deletes the record of a worker.
func (s *Service) LeaveTaskWorker(ctx context.Context, r *orchv1.LeaveTaskWorkerRequest) (*emptypb.Empty, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	err = s.workers.DeleteMany(ctx, info.Workspace, bson.D{
		{Key: "_id", Value: store.Binary(workerID(info.Workspace, r.GetIdentifier()))},
	})
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}

// ReadTaskWorkers returns the connected workers, optionally those with at least one of some tasks, ordered by name.
func (s *Service) ReadTaskWorkers(ctx context.Context, r *orchv1.ReadTaskWorkersRequest) (*orchv1.TaskWorkerList, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	now := s.workers.Store().Now()
	filter := bson.D{{Key: "timestamp", Value: bson.D{
		{Key: "$gte", Value: now.Add(-absent).UnixMicro()},
		// A later heartbeat is from before the clock stepped back. A connected worker soon replaces it.
		{Key: "$lte", Value: now.Add(absent).UnixMicro()},
	}}}
	if keys := r.GetQuery().GetTaskWorkerFilter().GetTaskKeys(); len(keys) > 0 {
		filter = append(filter, bson.E{Key: "task_keys", Value: bson.D{{Key: "$in", Value: keys}}})
	}
	found, err := s.workers.Find(ctx, info.Workspace, store.Query{Filter: filter, Sort: bson.D{{Key: "identifier", Value: 1}, {Key: "_id", Value: 1}}, Limit: maxWorkers})
	if err != nil {
		return nil, err
	}
	return &orchv1.TaskWorkerList{TaskWorkers: found}, nil
}
