// Package flowruns manages flow runs and their states.
//
// A run embeds its current state and a revision. The rules decide on the stored run, and the write succeeds only at
// that revision. The history row and the event go through the run's outbox with the state's id, so each exists exactly
// once.
package flowruns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/coalesce"
	"github.com/orch-project/orch/services/orchestration/internal/concurrency"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/pagination"
	"github.com/orch-project/orch/services/orchestration/internal/parameters"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/resourceid"
	"github.com/orch-project/orch/services/orchestration/internal/runorder"
	"github.com/orch-project/orch/services/orchestration/internal/runs"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/storedjson"
)

// Service serves flow runs and their states.
type Service struct {
	orchv1.UnimplementedFlowRunServiceServer
	orchv1.UnimplementedFlowRunStateServiceServer
	orchv1.UnimplementedFlowRunInputServiceServer
	orchv1.UnimplementedUiFlowServiceServer
	runs         *store.Collection[*orchv1.FlowRun]
	history      runs.History[*orchv1.FlowRun, *orchv1.FlowRunStateRecord]
	inputs       *store.Collection[*orchv1.FlowRunInput]
	flows        *store.Collection[*orchv1.Flow]
	flowReads    coalesce.Group[ownedID, *orchv1.Flow]
	tasks        *store.Collection[*orchv1.TaskRun]
	source       pagination.Source[*orchv1.FlowRun]
	vocab        vocabulary.Vocabulary
	hydrator     *parameters.Hydrator
	slots        slots
	flush        outbox.Flusher
	relatedCache relatedCache
	metrics      *runMetrics
	encoder      storedjson.Encoder[*orchv1.FlowRun]
	// The background tasks that change states.
	late, deadlines, pauses, cancellations *sweep

	cancellingTimeout time.Duration
	cleanUp           CleanUp

	endTaskRuns EndTaskRuns
	findQueue   FindQueue
	poolType    PoolType
	onWaiting   func(ws uuid.UUID, pool string)
	onStart     func(run *orchv1.FlowRun)
	order       runorder.Settings
}

// ownedID is an id within a workspace.
type ownedID struct{ workspace, id uuid.UUID }

// QueueRef is where a run waits for a worker: a queue of a work pool.
type QueueRef struct{ PoolID, PoolName, QueueID, QueueName string }

// FindQueue finds a queue of a work pool by its name, or the default queue where that is empty. The error is the answer.
type FindQueue func(ctx context.Context, ws uuid.UUID, pool, queue string) (QueueRef, error)

// PoolType reads the type of a work pool, which never changes; empty when there is none of that id.
type PoolType func(ctx context.Context, ws, pool uuid.UUID) (string, error)

// EndTaskRuns proposes a terminal state to the unfinished task runs of flow runs of a workspace that ended. It may be called repeatedly.
type EndTaskRuns func(ctx context.Context, ws uuid.UUID, flowRuns []uuid.UUID, proposal *orchv1.StateCreate) error

// CleanUp returns the effect that has the infrastructure of a run removed that does not stop, or that is lost; false if there is nobody to
// remove it. state is the id of the state in which the run was.
type CleanUp func(ctx context.Context, ws uuid.UUID, run *orchv1.FlowRun, state string, now time.Time) (effect store.Effect, ok bool, err error)

// DefaultCancellingTimeout is the default of Deps.CancellingTimeout.
const DefaultCancellingTimeout = 5 * time.Minute

// Deps are the dependencies of the service.
type Deps struct {
	Store      *store.Store
	Vocabulary vocabulary.Vocabulary
	Limits     *concurrency.Limits
	// Variable reads the variables that markers in resumption inputs name; nil means that there are none.
	Variable parameters.Variable
	// Flush executes the effects of a write before its call returns.
	Flush outbox.Flusher
	// FindQueue and PoolType look up work pools; nil means that there are none.
	FindQueue FindQueue
	PoolType  PoolType
	// EndTaskRuns may be nil.
	EndTaskRuns EndTaskRuns
	// CancellingTimeout is how long a run may take to stop, and CleanUp makes the job that removes what is left; nil makes none.
	CancellingTimeout time.Duration
	CleanUp           CleanUp
	// Registry may be nil.
	Registry prometheus.Registerer
	// Waiting is called when runs began to wait for a worker of a pool, by the pool's name; nil means nobody listens.
	Waiting func(ws uuid.UUID, pool string)
	// Started is called when a worker has claimed a run; nil means nobody listens.
	Started func(run *orchv1.FlowRun)
}

// New returns the service over a store.
func New(d Deps) *Service {
	s := d.Store
	if d.Variable == nil {
		d.Variable = parameters.NoVariables
	}
	if d.FindQueue == nil {
		d.FindQueue = func(_ context.Context, _ uuid.UUID, pool, _ string) (QueueRef, error) {
			return QueueRef{}, rpc.Detail(http.StatusNotFound, fmt.Sprintf("Work pool \"%s\" not found.", pool))
		}
	}
	if d.PoolType == nil {
		d.PoolType = func(context.Context, uuid.UUID, uuid.UUID) (string, error) { return "", nil }
	}
	if d.CleanUp == nil {
		d.CleanUp = func(context.Context, uuid.UUID, *orchv1.FlowRun, string, time.Time) (store.Effect, bool, error) {
			return store.Effect{}, false, nil
		}
	}
	if d.EndTaskRuns == nil {
		d.EndTaskRuns = func(context.Context, uuid.UUID, []uuid.UUID, *orchv1.StateCreate) error { return nil }
	}
	if d.Waiting == nil {
		d.Waiting = func(uuid.UUID, string) {}
	}
	if d.Started == nil {
		d.Started = func(*orchv1.FlowRun) {}
	}
	collection := store.NewCollection(s, query.FlowRun, &orchv1.FlowRun{}, store.VersionCache)
	return &Service{
		runs: collection,
		history: runs.History[*orchv1.FlowRun, *orchv1.FlowRunStateRecord]{
			Runs: collection, Rows: store.NewCollection(s, query.FlowRunState, &orchv1.FlowRunStateRecord{}), Kind: KindHistory, RunField: "flow_run_id",
		},
		inputs:      store.NewCollection(s, query.FlowRunInput, &orchv1.FlowRunInput{}),
		flows:       store.NewCollection(s, query.Flow, &orchv1.Flow{}),
		tasks:       store.NewCollection(s, query.TaskRun, &orchv1.TaskRun{}),
		source:      pagination.NewSource(collection, orchv1.FlowRunSort_FLOW_RUN_SORT_ID_DESC),
		vocab:       d.Vocabulary,
		slots:       slots{limits: d.Limits, deployments: store.NewCollection(s, query.Deployment, &orchv1.Deployment{})},
		hydrator:    parameters.NewHydrator(d.Variable),
		flush:       d.Flush,
		metrics:     newRunMetrics(d.Registry),
		encoder:     storedjson.OfRuns(collection, Present),
		endTaskRuns: d.EndTaskRuns,
		findQueue:   d.FindQueue,
		poolType:    d.PoolType,
		onWaiting:   d.Waiting,
		onStart:     d.Started,
		order:       runorder.NewSettings(d.Vocabulary),

		cancellingTimeout: cmp.Or(d.CancellingTimeout, DefaultCancellingTimeout), cleanUp: d.CleanUp,

		late: lateSweep(), deadlines: deadlineSweep(), pauses: stateSweep(), cancellations: stateSweep(),
	}
}

func translate(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return rpc.Detail(http.StatusNotFound, "Flow run not found")
	}
	return err
}

// unknown is the 404 in the form that some clients expect.
func unknown(id string) error {
	return rpc.ExceptionMessage(http.StatusNotFound, fmt.Sprintf("Flow run with id %s not found", id))
}

// ReadFlowRun returns a run.
func (s *Service) ReadFlowRun(ctx context.Context, r *orchv1.ReadFlowRunRequest) (*orchv1.FlowRun, error) {
	doc, err := s.readRaw(ctx, r)
	if err != nil {
		return nil, err
	}
	run, err := s.runs.Decode(doc)
	if err != nil {
		return nil, err
	}
	return Present(run, s.runs.Store().Now()), nil
}

// readRaw returns the document of a run.
func (s *Service) readRaw(ctx context.Context, r *orchv1.ReadFlowRunRequest) (bson.Raw, error) {
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
