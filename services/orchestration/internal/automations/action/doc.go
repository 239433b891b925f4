// Package action does what firings of automations cause.
//
//	action run: due ──claim──► executing ──┬─ done ─────────────► action.triggered, action.executed
//	             ▲                         ├─ refused ──────────► action.triggered, action.failed, dead letter
//	             └── backoff ◄─────────────┴─ failed for now ───► … then action.failed, dead letter
//
// The first action of a firing is due at once; each makes the next one due after its first attempt, so they begin in order.
// A claim is a lease on the run: a compare-and-set moves the time at which the run is due, and the execution renews it. A replica
// that dies leaves the run to another one after leader.Duration, and one that ends releases it. Event ids derive from the
// run's id, so events are idempotent. The operations of an action on the server are idempotent too: a deployment run has an idempotency key. An email may be sent again after a crash.
//
// An action is attempted 4 times. Mail depends on a server outside, and is attempted for 7 days, as calls and notifications are.
//
// Calls and notifications become deliveries to the destinations of their blocks (package destinations). The run waits for the end of its
// deliveries, which ends it:
//
//	run ── rendered texts ──► delivery for each receiver ── delivered, failed ──► effect ──► action.executed, action.failed
//
// Debounce, batch and singleton of a deployment run keep a document for each key, which changes by compare-and-set:
//
//	run ── key ──► ledger, collected run ── due or full ──► effect ──► run of all ──┐
//	run ── key ──► active run, queue ◄──────────────────────────────────────────────┴─► flow run
//
// The ledger recognizes a run that is executed again. The collected run is an effect of the write that completes it, so it is stored once.
package action

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/tracing"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/engine"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/store"
)

// Deps are what a runner works with.
type Deps struct {
	Store      *store.Store
	Broker     *broker.Conn
	Vocabulary vocabulary.Vocabulary
	// Caller calls the services of this process.
	Caller rpc.Caller
	// Account returns the account of a workspace.
	Account func(ctx context.Context, ws uuid.UUID) (uuid.UUID, error)
	// Deliveries sends calls and notifications.
	Deliveries Deliveries
	// Mail sends email notifications; the zero value refuses them.
	Mail Mailer
	// Recipients bound to whom they go.
	Recipients Recipients
	// UIURL is the address of the dashboard, empty if it is not known.
	UIURL string
	// Random gives numbers in [0, 1), which spread retries.
	Random func() float64
	// DeadLetter writes the dead letters of actions that failed permanently.
	DeadLetter DeadLetter
	// Count counts an outcome; nil counts nothing.
	Count func(action, outcome string)
	// Tracer continues the traces of firings; nil is off.
	Tracer *tracing.Tracer
	Log    *slog.Logger
}

// Runner executes action runs.
type Runner struct {
	Deps

	runs *store.Collection[*orchv1.AutomationActionRun]
	// keys are those of debounce, batch and singleton.
	keys *store.Collection[*orchv1.AutomationKey]
	// deliveries are the calls and notifications.
	deliveries *store.Collection[*orchv1.DestinationDelivery]

	engine *jinja.Engine
	woken  chan struct{}
	// letters counts the dead letters of automations.
	letters *engine.Counter
	// mails counts the recipients of an account.
	mails      *engine.Counter
	renderings *Renderings
	// previews renders for previews.
	previews *Runner
}

// New returns a runner.
func New(deps Deps) *Runner {
	if deps.Count == nil {
		deps.Count = func(string, string) {}
	}
	r := &Runner{
		Deps:       deps,
		runs:       store.NewCollection(deps.Store, query.AutomationAction, &orchv1.AutomationActionRun{}),
		keys:       store.NewCollection(deps.Store, query.AutomationKey, &orchv1.AutomationKey{}),
		deliveries: store.NewCollection(deps.Store, query.DestinationDelivery, &orchv1.DestinationDelivery{}),
		woken:      make(chan struct{}, 1),

		letters:    engine.NewCounter(time.Hour),
		mails:      engine.NewCounter(time.Hour),
		renderings: NewRenderings(),
	}
	r.engine = NewEngine(deps.UIURL, deps.Vocabulary)
	r.previews = &Runner{Deps: deps, engine: r.engine, renderings: NewRenderings()}
	return r
}

// Wake makes the runner look for due runs at once.
func (r *Runner) Wake() {
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

// outgoing is the context of calls that an automation makes in its workspace.
func (r *Runner) outgoing(ctx context.Context, ws uuid.UUID, a *orchv1.Automation) (context.Context, error) {
	account, err := r.Account(ctx, ws)
	if err != nil {
		return nil, err
	}
	info := request.Info{Account: account, Workspace: ws, ID: uuid.NewString()}
	if id, err := uuid.Parse(a.GetId()); err == nil {
		info.Automation = request.Automation{ID: id, Name: a.GetName()}
	}
	return request.Outgoing(ctx, info), nil
}
