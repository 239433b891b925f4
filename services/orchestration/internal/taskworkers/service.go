// Package taskworkers offers deferred task runs to task workers.
//
//	            ┌──────────── quit, lost, silent for offers.Claim ───────────┐
//	            ▼                                                            │
//	deferred ──▶ waiting (offer_at ≤ now) ── claim ──▶ offered (offer_at = end of the claim) ── ack ──▶ taken
//
// The queue is a field of the runs themselves, changed by compare-and-set: a run is with one worker at a time, whichever
// gateway the worker is connected to, and what is not taken is offered again, whatever fails in between.
package taskworkers

import (
	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Deps are what the service works with.
type Deps struct {
	Store *store.Store
	// Show fills in what a run shows and does not store.
	Show func(*orchv1.TaskRun) *orchv1.TaskRun
	// Offered is told the task key of a run that waits again.
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

// waiting matches the runs of some tasks that a worker may be offered now, in the order of their waiting.
func waiting(keys []string, now int64) (filter, sort bson.D) {
	filter = bson.D{
		{Key: "task_key", Value: bson.D{{Key: "$in", Value: keys}}},
		{Key: "offer_at", Value: bson.D{{Key: "$lte", Value: now}}},
		{Key: "state.type", Value: "SCHEDULED"},
	}
	return filter, bson.D{{Key: "offer_at", Value: 1}, {Key: "_id", Value: 1}}
}

// change is a change that nobody sees: what a claim says of a run is not shown.
func change(run *orchv1.TaskRun) *store.Change[*orchv1.TaskRun] {
	return &store.Change[*orchv1.TaskRun]{Message: run, Quiet: true}
}
