// Package engine evaluates the automations of all workspaces in the server.
//
//	EVENTS ──► durable consumer ──┐
//	                              ├──► tenant (one workspace): order ─► triggers ─► session ─► commit ─► acknowledge
//	store: due buckets ─► timers ─┘                                                   │
//	                                                                                  ├─► automation.triggered
//	                                                                                  └─► action runs
//
// One replica at a time evaluates, under a lease, so events keep the order of the stream. The lease gives order and saves
// work; correctness does not depend on it: buckets change by compare-and-set, and each step of a commit may be repeated.
//
// Workspaces share the evaluation. While several have automations, each evaluates at most its budget of a batch:
//
//	batch ──► budget of each workspace ──► acknowledge
//	             └─ rest ──► backlog in the store ──► batches, in rotation with other workspaces
//
// So the delay that a workspace causes for another one is bounded by one batch budget.
package engine

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/tracing"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Deps are what an engine works with.
type Deps struct {
	Store      *store.Store
	Broker     *broker.Conn
	Vocabulary vocabulary.Vocabulary
	Log        *slog.Logger
	// Tracer continues the traces of events; nil is off.
	Tracer *tracing.Tracer
	// Wake is called after action runs were stored.
	Wake func()
	// Account returns the account of a workspace.
	Account func(ctx context.Context, ws uuid.UUID) (uuid.UUID, error)
	Bounds  Bounds
	// Annotate adds to events of a batch what the server knows of them, before they are evaluated; nil adds nothing. The error is an outage.
	Annotate func(ctx context.Context, batch []broker.Event) error
	// Subscriptions receive all events; nil receives none.
	Subscriptions Subscriptions
	// Metrics may be nil.
	Metrics *Metrics
}

// Subscriptions store what events cause besides automations, in the order of the stream.
type Subscriptions interface {
	// Reset forgets what another replica may have changed. It is called when this replica begins to evaluate.
	Reset()
	// Queue stores what the first events of a workspace cause, as many as one turn permits and at least one, and returns their number. It
	// rejects events that fail permanently. The events are not acknowledged before it returns. The error is an outage; the same events
	// are then queued again. No other call queues events of the workspace meanwhile.
	Queue(ctx context.Context, ws uuid.UUID, events []Incoming, rejected *broker.Rejected) (int, error)
}

// noSubscriptions is for an engine without subscriptions.
type noSubscriptions struct{}

func (noSubscriptions) Reset() {}

func (noSubscriptions) Queue(_ context.Context, _ uuid.UUID, events []Incoming, _ *broker.Rejected) (int, error) {
	return len(events), nil
}

// Engine evaluates automations.
type Engine struct {
	Deps

	automations    *store.Collection[*orchv1.Automation]
	buckets        *store.Collection[*orchv1.AutomationBucket]
	deferredEvents *store.Collection[*orchv1.AutomationHold]
	actions        *store.Collection[*orchv1.AutomationActionRun]
	events         *store.Collection[*orchv1.ReceivedEvent]
	timers         timers

	mu         sync.Mutex
	evaluators map[uuid.UUID]*workspaceEvaluator
	leadership *leadership // nil while this replica does not evaluate.
	// firings counts those of automations and accounts, chained those that an event caused through others.
	firings, chained *Counter
	started          time.Time
	// slots bounds the workspaces that are evaluated at once. Waiting workspaces get a slot in the order of their arrival.
	slots chan struct{}
	// batchBudget bounds a turn of a workspace; see the constant.
	batchBudget int
	// populated is the number of workspaces with automations.
	populated atomic.Int64
}

// leadership is the time during which this replica holds the lease.
type leadership struct {
	ctx   context.Context
	group sync.WaitGroup
}

// spawn runs work of this leadership beside the workers. It does nothing while this replica does not evaluate.
func (e *Engine) spawn(work func(context.Context)) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.leadership == nil || e.leadership.ctx.Err() != nil {
		return false
	}
	current := e.leadership
	current.group.Go(func() { work(current.ctx) })
	return true
}

// acquire waits for a slot. It returns false if the context ends before.
func (e *Engine) acquire(ctx context.Context) bool {
	select {
	case e.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (e *Engine) release() { <-e.slots }

// New returns an engine that evaluates nothing before Run.
func New(deps Deps) *Engine {
	if deps.Wake == nil {
		deps.Wake = func() {}
	}
	if deps.Metrics == nil {
		deps.Metrics = NewMetrics()
	}
	if deps.Subscriptions == nil {
		deps.Subscriptions = noSubscriptions{}
	}
	if deps.Annotate == nil {
		deps.Annotate = func(context.Context, []broker.Event) error { return nil }
	}
	return &Engine{
		Deps:           deps,
		automations:    store.NewCollection(deps.Store, query.Automation, &orchv1.Automation{}),
		buckets:        store.NewCollection(deps.Store, query.AutomationBucket, &orchv1.AutomationBucket{}),
		deferredEvents: store.NewCollection(deps.Store, query.AutomationHold, &orchv1.AutomationHold{}),
		actions:        store.NewCollection(deps.Store, query.AutomationAction, &orchv1.AutomationActionRun{}),
		events:         store.NewCollection(deps.Store, query.Event, &orchv1.ReceivedEvent{}, store.ClientIDs),
		evaluators:     map[uuid.UUID]*workspaceEvaluator{},
		firings:        NewCounter(time.Minute),
		chained:        NewCounter(time.Hour),
		slots:          make(chan struct{}, parallel),
		batchBudget:    batchBudget,
	}
}

// now is the server's clock.
func (e *Engine) now() time.Time { return e.Store.Now() }
