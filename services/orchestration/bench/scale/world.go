package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/concurrency"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	flowservice "github.com/orch-project/orch/services/orchestration/internal/flows"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// world is a store and the service that uses it.
type world struct {
	server *embeddedmongo.Server
	store  *store.Store
	calls  *rpc.Local
}

func open(ctx context.Context, dir string) (*world, error) {
	server, err := embeddedmongo.Open(dir, embeddedmongo.Options{})
	if err != nil {
		return nil, err
	}
	s, err := store.Open(ctx, store.Config{
		URI: server.URI(), Database: "orch", Dialer: server.ContextDialer(), Clock: clock.System{}, IDs: id.System(),
	})
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	w := &world{server: server, store: s, calls: rpc.NewLocal()}
	if err := s.EnsureIndexes(ctx, query.Indexes()); err != nil {
		return nil, errors.Join(err, w.close(ctx))
	}
	orchv1.RegisterFlowRunServiceServer(w.calls, flowruns.New(flowruns.Deps{
		Store: s, Vocabulary: vocabulary.Orch, Limits: concurrency.NewLimits(s, vocabulary.Orch, nil),
	}))
	orchv1.RegisterFlowServiceServer(w.calls, flowservice.New(s, vocabulary.Orch, outbox.Flusher{}))
	return w, nil
}

func (w *world) close(ctx context.Context) error {
	return errors.Join(w.store.Close(ctx), w.server.Close())
}

// The runs: one starts each second, the last one at newest. Flows, deployments and states match the same share of a
// small and of a large store. A time window and a name match the same number.
const (
	flows       = 50
	deployments = 20
	queues      = 10
)

var newest = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

// known returns the fixed id of the n-th resource of a kind.
func known(kind string, n int) uuid.UUID {
	return uuid.NewSHA1(request.DefaultWorkspace, fmt.Appendf(nil, "%s/%d", kind, n))
}

// batch is the number of runs per insert command.
const batch = 500

// fill stores n runs in an empty store.
func (w *world) fill(ctx context.Context, n int) error {
	runs := store.NewCollection(w.store, query.FlowRun, &orchv1.FlowRun{})
	stored, err := runs.Count(ctx, request.DefaultWorkspace, bson.D{})
	if err != nil || stored == int64(n) {
		return err
	}
	if stored > 0 {
		return fmt.Errorf("store has %d flow runs, want 0 or %d: remove it", stored, n)
	}
	if err := w.fillRelated(ctx); err != nil {
		return err
	}
	docs := make([]bson.Raw, 0, batch)
	for i := range n {
		doc, err := store.NewDocument(request.DefaultWorkspace, flowRun(i, n), time.Time{})
		if err != nil {
			return err
		}
		if docs = append(docs, doc); len(docs) == batch || i == n-1 {
			if err := runs.InsertNew(ctx, docs); err != nil {
				return err
			}
			docs = docs[:0]
		}
	}
	return nil
}

// fillRelated stores the related resources of the runs.
func (w *world) fillRelated(ctx context.Context) error {
	var errs []error
	for i := range flows {
		flow := &orchv1.Flow{Id: known("flow", i).String(), Name: fmt.Sprintf("flow-%d", i)}
		errs = append(errs, store.NewCollection(w.store, query.Flow, &orchv1.Flow{}).Insert(ctx, request.DefaultWorkspace, flow))
	}
	for i := range deployments {
		d := &orchv1.Deployment{Id: known("deployment", i).String(), Name: fmt.Sprintf("deployment-%d", i), FlowId: known("flow", i).String()}
		errs = append(errs, store.NewCollection(w.store, query.Deployment, &orchv1.Deployment{}).Insert(ctx, request.DefaultWorkspace, d))
	}
	for i := range queues {
		q := &orchv1.WorkQueue{Id: known("queue", i).String(), Name: fmt.Sprintf("queue-%d", i), WorkPoolId: new(known("pool", i/5).String())}
		errs = append(errs, store.NewCollection(w.store, query.WorkQueue, &orchv1.WorkQueue{}).Insert(ctx, request.DefaultWorkspace, q))
	}
	return errors.Join(errs...)
}

// flowRun returns the i-th of n runs, the oldest first. Most are completed, one in eleven failed, and the newest
// hundred are scheduled.
func flowRun(i, n int) *orchv1.FlowRun {
	at := newest.Add(time.Duration(i-n) * time.Second)
	start := timestamppb.New(at)
	state := &orchv1.State{Id: known("state", i).String(), Timestamp: start, Name: new("Completed"), Type: orchv1.StateType_STATE_TYPE_COMPLETED}
	run := &orchv1.FlowRun{
		Id: known("run", i).String(), Name: fmt.Sprintf("run-%d", n-i), FlowId: known("flow", i%flows).String(),
		Parameters: []byte(`{"x":1,"y":"two"}`), Tags: []string{"bench", fmt.Sprintf("tag-%d", i%7)},
		Created: start, Updated: start, ExpectedStartTime: start, SortStart: start, State: state,
		IdempotencyKey: new(fmt.Sprintf("key-%d", n-i)), FlowVersion: new(fmt.Sprintf("v%d", i%3)),
		JobVariables: []byte("{}"), EmpiricalPolicy: &orchv1.FlowRunPolicy{}, RunCount: 1,
	}
	switch {
	case n-i <= 100:
		state.Type, state.Name = orchv1.StateType_STATE_TYPE_SCHEDULED, new("Scheduled")
		run.NextScheduledStartTime, run.RunCount = start, 0
	case i%11 == 0:
		state.Type, state.Name = orchv1.StateType_STATE_TYPE_FAILED, new("Failed")
	}
	if run.GetRunCount() > 0 {
		run.StartTime, run.EndTime, run.TotalRunTime = start, timestamppb.New(at.Add(time.Minute)), time.Minute.Seconds()
	}
	if i%2 == 0 {
		run.DeploymentId = new(known("deployment", i/2%deployments).String())
		run.WorkQueueId, run.WorkQueueName = new(known("queue", i/2%queues).String()), new(fmt.Sprintf("queue-%d", i/2%queues))
	}
	if i%100 == 1 {
		run.ParentTaskRunId = new(known("task", i).String())
	}
	return run
}
