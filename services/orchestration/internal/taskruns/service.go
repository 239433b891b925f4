// Package taskruns manages task runs and their states.
//
// It works like flowruns: a run embeds its current state and a revision. The rules decide on the stored run, and the
// write succeeds only at that revision. Data of other documents (the flow run, a cached state) is read before the
// decision; effects of the decision go through the run's outbox:
//
//	proposal ──► flow run, cached state ──► rules ──► task run ──► outbox ──┬─► history
//	                                                     ▲                  ├─► event
//	flow run with a parent task run ──► outbox ──────────┘                  └─► cache
//
// Clients decide on the states of most task runs, and the server only receives events. Record derives runs and history
// from those events, in any order and with duplicates:
//
//	event of a client ──► broker ──► persister ──► merge ──┬─► task run
//	                                                       └─► history
package taskruns

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/concurrency"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/runs"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/storedjson"
)

// Service serves task runs and their states.
type Service struct {
	orchv1.UnimplementedTaskRunServiceServer
	orchv1.UnimplementedTaskRunStateServiceServer
	orchv1.UnimplementedUiTaskRunServiceServer
	runs     *store.Collection[*orchv1.TaskRun]
	states   *store.Collection[*orchv1.TaskRunStateRecord]
	history  runs.History[*orchv1.TaskRun, *orchv1.TaskRunStateRecord]
	cache    *store.Collection[*orchv1.TaskRunCacheEntry]
	flowRuns *store.Collection[*orchv1.FlowRun]
	source   pagination.Source[*orchv1.TaskRun]
	encoder  storedjson.Encoder[*orchv1.TaskRun]
	vocab    vocabulary.Vocabulary
	random   func() float64
	offered  func(ws uuid.UUID, taskKey string) // May be nil.
	limits   *concurrency.Limits
	flush    outbox.Flusher
}

// Deps are the dependencies of the service.
type Deps struct {
	Store      *store.Store
	Vocabulary vocabulary.Vocabulary
	Limits     *concurrency.Limits
	// Random returns numbers in [0, 1), the jitter of retries.
	Random func() float64
	// Offered wakes the task workers that wait for runs of a task key. It is called after the run is stored, and may be nil.
	Offered func(ws uuid.UUID, taskKey string)
	// Flush executes the effects of a write before its call returns.
	Flush outbox.Flusher
}

// New returns the service.
func New(d Deps) *Service {
	s := d.Store
	collection := store.NewCollection(s, query.TaskRun, &orchv1.TaskRun{})
	rows := store.NewCollection(s, query.TaskRunState, &orchv1.TaskRunStateRecord{})
	return &Service{
		runs:   collection,
		states: rows,
		history: runs.History[*orchv1.TaskRun, *orchv1.TaskRunStateRecord]{
			Runs: collection, Rows: rows, Kind: KindHistory, RunField: "task_run_id",
		},
		cache:    store.NewCollection(s, query.TaskRunCache, &orchv1.TaskRunCacheEntry{}),
		flowRuns: store.NewCollection(s, query.FlowRun, &orchv1.FlowRun{}),
		source:   pagination.NewSource(collection, orchv1.TaskRunSort_TASK_RUN_SORT_ID_DESC),
		encoder:  storedjson.OfRuns(collection, present),
		vocab:    d.Vocabulary,
		random:   d.Random,
		limits:   d.Limits,
		offered:  d.Offered,
		flush:    d.Flush,
	}
}

// Handlers returns the effect handlers of this package.
func (s *Service) Handlers() []outbox.Handler {
	return []outbox.Handler{
		{Kind: KindHistory, Run: s.WriteHistory, Batch: true},
		{Kind: kindCache, Run: s.WriteCache},
		{Kind: kindForget, Run: s.Forget},
		{Kind: kindDeleteOfFlowRun, Run: s.DeleteRuns},
		{Kind: kindSubflow, Run: s.FollowSubflow},
		{Kind: kindFlowRetry, Run: s.RetryWithFlow},
	}
}

func translate(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return rpc.Detail(http.StatusNotFound, "Task not found")
	}
	return err
}

// ReadTaskRun returns a run.
func (s *Service) ReadTaskRun(ctx context.Context, r *orchv1.ReadTaskRunRequest) (*orchv1.TaskRun, error) {
	doc, err := s.readRaw(ctx, r)
	if err != nil {
		return nil, err
	}
	run, err := s.runs.Decode(doc)
	if err != nil {
		return nil, err
	}
	return present(run, s.runs.Store().Now()), nil
}

// readRaw returns the document of a run.
func (s *Service) readRaw(ctx context.Context, r *orchv1.ReadTaskRunRequest) (bson.Raw, error) {
	ws, id, err := resourceid.FromRequest(ctx, r.GetId())
	if err != nil {
		return nil, translate(err)
	}
	doc, err := store.GetRaw(ctx, s.runs, ws, id)
	if err != nil {
		return nil, translate(err)
	}
	return doc, nil
}

// flowRun reads the flow run of a task run; nil if it has none or the flow run was deleted.
func (s *Service) flowRun(ctx context.Context, ws uuid.UUID, run *orchv1.TaskRun) (*orchv1.FlowRun, error) {
	if run.FlowRunId == nil {
		return nil, nil
	}
	id, err := uuid.Parse(run.GetFlowRunId())
	if err != nil {
		return nil, fmt.Errorf("read the id of a flow run: %w", err)
	}
	flowRun, err := s.flowRuns.Get(ctx, ws, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return flowRun, err
}
