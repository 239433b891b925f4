// Package taskworkers offers deferred task runs to task workers.
//
//	            ┌──────────── quit, lost, silent for feeds.TaskClaim ─────┐
//	            ▼                                                            │
//	deferred ──▶ waiting (offer_at ≤ now) ── claim ──▶ offered (offer_at = end of the claim) ── ack ──▶ taken
//
// The queue is a field of the runs, changed by compare-and-set. So one worker at a time has a run, whichever gateway
// the worker is connected to. A run that is not taken is offered again, whatever fails in between.
package taskworkers

import (
	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Deps are the dependencies of the service.
type Deps struct {
	Store *store.Store
	// Show adds the computed fields of a run.
	Show func(*orchv1.TaskRun) *orchv1.TaskRun
	// Offered receives the task key of a run that waits again.
	Offered func(ws uuid.UUID, taskKey string)
}

// Service serves task workers.
type Service struct {
	orchv1.UnimplementedTaskWorkerServiceServer
	deps    Deps
	runs    *store.Collection[*orchv1.TaskRun]
	workers *store.Collection[*orchv1.TaskWorker]
}

// New returns the service.
func New(deps Deps) *Service {
	return &Service{
		deps:    deps,
		runs:    store.NewCollection(deps.Store, query.TaskRun, &orchv1.TaskRun{}),
		workers: store.NewCollection(deps.Store, query.TaskWorker, &orchv1.TaskWorker{}),
	}
}

// waiting matches the runs of some tasks that may be offered now, longest-waiting first.
func waiting(keys []string, now int64) (filter, sort bson.D) {
	filter = bson.D{
		{Key: "task_key", Value: bson.D{{Key: "$in", Value: keys}}},
		{Key: "offer_at", Value: bson.D{{Key: "$lte", Value: now}}},
		{Key: "state.type", Value: "SCHEDULED"},
	}
	return filter, bson.D{{Key: "offer_at", Value: 1}, {Key: "_id", Value: 1}}
}

// change is a quiet change: the fields of a claim are internal.
func change(run *orchv1.TaskRun) *store.Change[*orchv1.TaskRun] {
	return &store.Change[*orchv1.TaskRun]{Message: run, Quiet: true}
}
