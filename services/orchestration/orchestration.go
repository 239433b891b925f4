// Package orchestration is the domain of Orch: it keeps flows, runs, events and webhooks, and judges the states of runs.
//
//	gateway ──gRPC──► flows, flowruns, taskruns, events, webhooks ──► store (MongoDB)
//	                              │                                       │ outbox
//	                              │ rules                                 ▼
//	                              └────────────────────────── broker ◄── relay
//	                                                             │
//	                                                             └──► persister ──► store
//
// Everything behind [New] is wired in the order of dependence: the store, the broker's consumers, the services on them,
// the workers. Any number of replicas may run side by side; what only one may do is decided by compare-and-set.
package orchestration

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"
	_ "time/tzdata" // Schedules name time zones, and an image made from scratch has no files of them.

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"google.golang.org/grpc"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/feeds"
	"github.com/orch-project/orch/pkg/id"
	wirelogs "github.com/orch-project/orch/pkg/logs"
	"github.com/orch-project/orch/pkg/maintenance"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/pkg/safedial"
	"github.com/orch-project/orch/pkg/secrets"
	"github.com/orch-project/orch/pkg/tracing"
	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/admin"
	"github.com/orch-project/orch/services/orchestration/internal/artifacts"
	"github.com/orch-project/orch/services/orchestration/internal/assets"
	"github.com/orch-project/orch/services/orchestration/internal/automations"
	"github.com/orch-project/orch/services/orchestration/internal/automations/action"
	"github.com/orch-project/orch/services/orchestration/internal/automations/engine"
	"github.com/orch-project/orch/services/orchestration/internal/backfills"
	"github.com/orch-project/orch/services/orchestration/internal/blocks"
	"github.com/orch-project/orch/services/orchestration/internal/collectionviews"
	"github.com/orch-project/orch/services/orchestration/internal/concurrency"
	"github.com/orch-project/orch/services/orchestration/internal/deadletters"
	"github.com/orch-project/orch/services/orchestration/internal/deployments"
	"github.com/orch-project/orch/services/orchestration/internal/destinations"
	"github.com/orch-project/orch/services/orchestration/internal/egress"
	"github.com/orch-project/orch/services/orchestration/internal/events"
	"github.com/orch-project/orch/services/orchestration/internal/eventtypes"
	"github.com/orch-project/orch/services/orchestration/internal/flowruns"
	"github.com/orch-project/orch/services/orchestration/internal/flows"
	"github.com/orch-project/orch/services/orchestration/internal/graph"
	"github.com/orch-project/orch/services/orchestration/internal/hourtotals"
	"github.com/orch-project/orch/services/orchestration/internal/liveness"
	"github.com/orch-project/orch/services/orchestration/internal/logs"
	"github.com/orch-project/orch/services/orchestration/internal/observedstates"
	"github.com/orch-project/orch/services/orchestration/internal/outbox"
	"github.com/orch-project/orch/services/orchestration/internal/parameters"
	"github.com/orch-project/orch/services/orchestration/internal/query"
	"github.com/orch-project/orch/services/orchestration/internal/quotas"
	"github.com/orch-project/orch/services/orchestration/internal/retention"
	"github.com/orch-project/orch/services/orchestration/internal/savedsearches"
	"github.com/orch-project/orch/services/orchestration/internal/schedules"
	"github.com/orch-project/orch/services/orchestration/internal/statuserr"
	"github.com/orch-project/orch/services/orchestration/internal/store"
	"github.com/orch-project/orch/services/orchestration/internal/taskruns"
	"github.com/orch-project/orch/services/orchestration/internal/taskworkers"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy"
	"github.com/orch-project/orch/services/orchestration/internal/tenancy/accounts"
	"github.com/orch-project/orch/services/orchestration/internal/variables"
	"github.com/orch-project/orch/services/orchestration/internal/webhooks"
	"github.com/orch-project/orch/services/orchestration/internal/workpools"
)

// Deps are what the service works with.
type Deps struct {
	// Broker is the process's connection; it stays the caller's to close.
	Broker *broker.Conn
	// Dialer reaches the database without TCP; nil means TCP.
	Dialer options.ContextDialer
	// Client adds to the options of the database's client, for tests that watch its commands.
	Client func(*options.ClientOptions)
	// WaitForStore makes New wait for a database that does not respond, until its context ends.
	WaitForStore bool
	// Tracer traces calls, events and effects; nil is off.
	Tracer *tracing.Tracer
	// Admission bounds what calls compute; nil means bounds of this service alone.
	Admission *admission.Controller
	// Registry collects the metrics; nil disables them.
	Registry prometheus.Registerer
	// Version is the version of the program, which the database records.
	Version string
	// Log defaults to slog.Default(), Clock and IDs to the machine's.
	Log   *slog.Logger
	Clock clock.Clock
	IDs   *id.Source
	// FlushDeadline bounds how long a response waits for the effects of its write; it defaults to outbox.FlushDeadline. After
	// it, a read may show views of that write as they were before.
	FlushDeadline time.Duration
	// Random gives numbers in [0, 1), by which retries are spread; it defaults to the runtime's.
	Random func() float64
}

func (d Deps) withDefaults() Deps {
	if d.Log == nil {
		d.Log = slog.Default()
	}
	if d.Clock == nil {
		d.Clock = clock.System{}
	}
	if d.IDs == nil {
		d.IDs = id.System()
	}
	if d.FlushDeadline == 0 {
		d.FlushDeadline = outbox.FlushDeadline
	}
	if d.Random == nil {
		d.Random = rand.Float64
	}
	if d.Admission == nil {
		d.Admission = admission.New(admission.DefaultMemory)
	}
	if d.Registry == nil {
		d.Registry = prometheus.NewRegistry()
	}
	return d
}

// Orchestration is the service, ready to be registered and run.
type Orchestration struct {
	log         *slog.Logger
	requestLog  *slog.Logger // Has every failed request, those of an outage too.
	tracer      *tracing.Tracer
	keys        bool // Callers have API keys.
	store       *store.Store
	indexes     *store.IndexBuilder
	broker      *broker.Conn
	relay       *outbox.Relay
	flows       *flows.Service
	runs        *flowruns.Service
	tasks       *taskruns.Service
	workers     *taskworkers.Service
	graphs      *graph.Service
	schemas     *parameters.Service
	deployments *deployments.Service
	scheduler   *schedules.Scheduler
	backfills   *backfills.Service
	background  *backgroundMetrics
	limits      *concurrency.Service
	events      *events.Service
	eventTypes  *eventtypes.Service
	logs        *logs.Service
	webhooks    *webhooks.Service
	artifacts   *artifacts.Service
	variables   *variables.Service
	searches    *savedsearches.Service
	assets      *assets.Service
	blocks      *blocks.Service
	automations *automations.Service
	// destinations receive events; sender sends them.
	destinations *destinations.Service
	sender       *destinations.Sender
	evaluator    *engine.Engine
	actions      *action.Runner
	admin        *admin.Service
	pools        *workpools.Service
	deadLetters  *deadletters.Service
	retention    *retention.Service
	runTimeouts  *liveness.Service
	runMonitor   *liveness.Monitor
	quotas       *quotas.Service
	hours        *hourtotals.Keeper
	hosted       *hosted
	// reencryption encrypts secrets with the first key.
	reencryption *reencryption
	every        Timers
}

// New connects to the database, claims it, and wires the services. Close it.
func New(ctx context.Context, cfg Config, deps Deps) (_ *Orchestration, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configure the orchestration service: %w", err)
	}
	if cfg.Secrets.Empty() {
		return nil, fmt.Errorf("configure the orchestration service: %w (32 random bytes in base64, such as openssl rand -base64 32 makes)", secrets.ErrNoKey)
	}
	deps = deps.withDefaults()
	quiet := newOutageLog(deps.Log, deps.Broker)
	o := &Orchestration{
		log: slog.New(quiet).With("component", "orchestration"), requestLog: deps.Log.With("component", "orchestration"),
		broker: deps.Broker, tracer: deps.Tracer, keys: cfg.Auth == "keys", every: cfg.Timers,
	}
	o.store, err = store.Open(ctx, store.Config{
		URI: cfg.MongoDBURI, Database: cfg.MongoDBDatabase, Dialer: deps.Dialer, Client: deps.Client, Clock: deps.Clock, IDs: deps.IDs,
		Program: deps.Version,
		Wait:    deps.WaitForStore, Trace: deps.Tracer != nil, Metrics: deps.Registry, Log: o.log,
		Available: quiet.outage.available,
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.store.Close(context.WithoutCancel(ctx)))
		}
	}()
	if err := o.store.Claim(ctx, cfg.Vocabulary); err != nil {
		return nil, err
	}
	if o.indexes, err = o.store.StartIndexes(ctx, query.Indexes(), o.log); err != nil {
		return nil, err
	}
	definitions, err := deps.Broker.KeyValue(ctx, webhookdef.Bucket, broker.KVConfig{Description: "webhooks, for the hooks service"})
	if err != nil {
		return nil, err
	}

	maintenanceBucket, err := maintenance.Open(ctx, deps.Broker)
	if err != nil {
		return nil, err
	}

	deliveries, err := deliverylog.Open(ctx, deps.Broker)
	if err != nil {
		return nil, err
	}

	// The relay executes what the services' writes cause. Its routes to the services follow below, once they exist.
	effects := outbox.NewMux()
	o.relay = outbox.New(outbox.Config{
		Store: o.store, Collections: slices.Concat(collections, hostedCollections), Handlers: effects,
		Secrets: cfg.Secrets, Retention: cfg.DeadLettersRetention, Broker: takesEvents(deps.Broker), Metrics: deps.Registry, Random: deps.Random, Tracer: deps.Tracer, Log: o.log,
	})
	o.store = o.store.WithRelay(o.relay)
	flush := outbox.NewFlusher(o.relay, deps.FlushDeadline, o.log)
	wake := taskWorkerWaker(feeds.TaskRuns(deps.Broker), o.log)

	registry, err := openRegistry(ctx, tenancy.Deps{Store: o.store, Flush: flush, Vocabulary: cfg.Vocabulary, Log: o.log}, deps.Broker)
	if err != nil {
		return nil, err
	}
	limits := concurrency.NewLimits(o.store, cfg.Vocabulary, deps.Random)
	o.limits = concurrency.New(limits)
	o.quotas = quotas.New(quotas.Deps{Registry: registry, Defaults: cfg.Quotas, Metrics: deps.Registry, Log: o.log})
	o.variables = variables.New(o.store, cfg.Vocabulary)
	o.artifacts = artifacts.New(artifacts.Deps{Store: o.store, Flush: flush, Vocabulary: cfg.Vocabulary})
	o.searches = savedsearches.New(o.store)
	o.assets = assets.New(o.store, cfg.Vocabulary)
	o.blocks = blocks.New(blocks.Deps{Store: o.store, Keys: cfg.Secrets, Scopes: registry, Quotas: o.quotas, Flush: flush, Vocabulary: cfg.Vocabulary})
	o.automations = automations.New(o.store, cfg.Vocabulary, flush, o.quotas, deps.Admission,
		func(ctx context.Context, ws uuid.UUID, run *orchv1.AutomationActionRun) ([]*orchv1.AutomationRendering, error) {
			return o.actions.Preview(ctx, ws, run)
		})
	o.admin = admin.New(o.store, o.blocks.Capabilities)
	o.deadLetters = deadletters.New(o.store, o.relay, deps.Broker)
	o.flows = flows.New(o.store, cfg.Vocabulary, flush)
	o.schemas = parameters.NewService(parameters.NewHydrator(o.variables.Lookup), deps.Admission)
	pools := workpools.NewPools(workpools.PoolsDeps{
		Store: o.store, Vocabulary: cfg.Vocabulary, Block: o.blocks.Data, Flush: flush, Log: o.log, Limits: limits,
		Notify:        workPoolNotifier(feeds.WorkPools(deps.Broker), o.log),
		NotifyCleanup: workPoolNotifier(feeds.Cleanups(deps.Broker), o.log), CleanupLease: cfg.Cancellations.CleanupLease,
	})
	o.tasks = taskruns.New(taskruns.Deps{
		Store: o.store, Vocabulary: cfg.Vocabulary, Limits: limits, Random: deps.Random, Offered: wake, Flush: flush,
	})
	o.workers = taskworkers.New(taskworkers.Deps{Store: o.store, Show: o.tasks.Show, Offered: wake})
	o.runs = flowruns.New(flowruns.Deps{
		Store: o.store, Vocabulary: cfg.Vocabulary, Limits: limits, Variable: o.variables.Lookup, Flush: flush,
		EndTaskRuns: o.tasks.EndOf, FindQueue: pools.FindQueue, PoolType: pools.PoolType, Started: pools.RunStarted,
		Waiting:           waitingRunNotifier(feeds.WaitingRuns(deps.Broker), o.log),
		CancellingTimeout: cfg.Cancellations.Timeout, CleanUp: pools.CleanUp, Registry: deps.Registry,
	})
	o.graphs = graph.New(o.store, o.runs.States)
	o.background = newBackgroundMetrics(deps.Registry)
	o.scheduler = schedules.New(schedules.Deps{Store: o.store, Runs: o.runs, Registry: deps.Registry, Log: o.log})
	o.deployments = deployments.New(deployments.Deps{
		Store: o.store, Runs: o.runs, Scheduler: o.scheduler, Variable: o.variables.Lookup, Block: o.blocks.Has, Limit: limits.Show, Shown: limits.ShowOf,
		Follow: limits.DeploymentEffect, Pools: pools, Quotas: o.quotas, Flush: flush, Vocabulary: cfg.Vocabulary, Admission: deps.Admission,
	})
	o.backfills = backfills.New(backfills.Deps{
		Store: o.store, Vocabulary: cfg.Vocabulary, Runs: o.runs, Check: o.deployments.CheckParameters, Admission: deps.Admission, Flush: flush, Registry: deps.Registry,
	})
	o.pools = workpools.New(pools, o.deployments)
	o.eventTypes = eventtypes.New(eventtypes.Deps{
		Store: o.store, Vocabulary: cfg.Vocabulary,
		CountWith: func(ctx context.Context, ws uuid.UUID, resource string, limit int64) (int64, error) {
			return o.events.CountWith(ctx, ws, resource, limit)
		},
		LastOccurred: func(ctx context.Context, ws uuid.UUID, name string) (time.Time, error) {
			return o.events.LastOccurred(ctx, ws, name)
		},
	})
	o.events = events.New(events.Deps{
		Store: o.store, Broker: deps.Broker, Vocabulary: cfg.Vocabulary, Retention: cfg.EventsRetention, Record: o.record, Records: o.records,
		Types: o.eventTypes, Tracer: deps.Tracer,
	})
	o.runTimeouts = liveness.New(o.store, cfg.Vocabulary, flush)
	o.runMonitor = liveness.NewMonitor(liveness.MonitorDeps{
		Store: o.store, Runs: o.runs, Events: o.events, Timeouts: o.runTimeouts, Workers: pools,
		Every: cfg.Timers.RunMonitor, Registry: deps.Registry, Log: o.log,
		Maintenance: func(ctx context.Context) (bool, error) {
			state, err := maintenance.Read(ctx, maintenanceBucket)
			return state.GetEnabled(), err
		},
		Stored: func(ctx context.Context) error {
			if err := deps.Broker.Healthy(); err != nil {
				return err
			}
			return deps.Broker.WaitHandled(ctx, broker.DurablePersist)
		},
	})
	o.logs = logs.New(logs.Deps{Store: o.store, Retention: cfg.LogsRetention, Show: deps.Broker.Live(wirelogs.Feed).Publish, Log: o.log})
	o.webhooks = webhooks.New(webhooks.Deps{
		Store: o.store, Definitions: definitions, Tenancy: registry, Admission: deps.Admission, Flush: flush, Log: o.log,
		Secrets: cfg.Secrets, Vocabulary: cfg.Vocabulary, IDs: deps.IDs, Publisher: deps.Broker.Publisher(), Journal: deliveries,
		Recorded:      deliveryNotifier(feeds.Deliveries(deps.Broker), o.log),
		MaxDeliveries: cfg.DeliveriesKept, Retention: cfg.DeliveriesRetention, Health: cfg.WebhookHealth.policy(), UniqueNames: cfg.WebhookUniqueNames,
		Quotas: o.quotas, Annotate: o.eventTypes.Annotate,
	})
	dial, err := safedial.ParsePolicy(cfg.Automations.AllowedNetworks)
	if err != nil {
		return nil, fmt.Errorf("configure the orchestration service: %w", err)
	}
	proxies, err := egress.ParseProxies(cfg.DestinationProxies)
	if err != nil {
		return nil, fmt.Errorf("configure the orchestration service: %w", err)
	}
	o.destinations = destinations.New(destinations.Deps{
		Store: o.store, Vocabulary: cfg.Vocabulary, Secrets: cfg.Secrets, Flush: flush, Dial: dial, Proxies: proxies, UIURL: cfg.Automations.UIURL,
		Retention: cfg.DeliveriesRetention, Random: deps.Random, Tracer: deps.Tracer, Log: o.log,
		Attempted: destinationAttempts(deps.Registry),
		DeadLetter: func(ctx context.Context, destination uuid.UUID, e store.Effect, attempts int, reason error) error {
			return o.relay.DeadLetter(ctx, query.Destination, destination, e, attempts, reason)
		},
		Request: func(ctx context.Context, ws uuid.UUID, d *orchv1.DestinationDelivery) (*egress.Message, error) {
			return o.actions.Request(ctx, ws, d)
		},
		Tenancy: registry, Quotas: o.quotas, Account: o.accountOf,
	})
	o.sender = o.destinations.NewSender()
	o.retention = retention.New(retention.Deps{
		Store: o.store, Vocabulary: cfg.Vocabulary, Flush: flush, Rate: cfg.RetentionRate, Registry: deps.Registry, Log: o.log,
		Kinds: map[orchv1.RetentionKind]retention.Kind{
			orchv1.RetentionKind_RETENTION_KIND_FLOW_RUNS:          {Count: o.runs.CountExpired, Delete: o.runs.DeleteExpired},
			orchv1.RetentionKind_RETENTION_KIND_TASK_RUNS:          {Count: o.tasks.CountExpired, Delete: o.tasks.DeleteExpired},
			orchv1.RetentionKind_RETENTION_KIND_ARTIFACTS:          {Count: o.artifacts.CountExpired, Delete: o.artifacts.DeleteExpired},
			orchv1.RetentionKind_RETENTION_KIND_LOGS:               {Count: o.logs.CountExpired, Delete: o.logs.DeleteExpired},
			orchv1.RetentionKind_RETENTION_KIND_EVENTS:             {Count: o.events.CountExpired, Delete: o.events.DeleteExpired},
			orchv1.RetentionKind_RETENTION_KIND_WEBHOOK_DELIVERIES: {Count: o.webhooks.CountExpired, Delete: o.webhooks.DeleteExpired},
		},
	})
	o.reencryption = newReencryption(cfg.Secrets, deps.Registry, o.log,
		secretKind{"blocks", o.blocks.Reencrypt}, secretKind{"webhooks", o.webhooks.Reencrypt}, secretKind{"destinations", o.destinations.Reencrypt}, secretKind{"dead letters", o.relay.Reencrypt})
	o.hours = hourtotals.NewKeeper(o.store.Totals(), o.log, deps.Registry, o.store)
	o.hosted = newHosted(registry, o.quotas, o.store, o.webhooks)

	if err := o.evaluation(cfg, deps); err != nil {
		return nil, err
	}
	return o, effects.Handle(slices.Concat(
		[]outbox.Handler{
			{Kind: events.KindPublish, Run: o.events.PublishEffects, Batch: true},
			{Kind: webhooks.KindDefinition, Run: o.webhooks.Publish},
			{Kind: accounts.KindIngestion, Run: o.webhooks.PublishAccounts},
			{Kind: artifacts.KindFollow, Run: o.artifacts.Follow},
			{Kind: artifacts.KindDeleteOfFlowRun, Run: o.artifacts.DeleteOfFlowRuns},
			{Kind: action.KindAction, Run: o.actions.Retry},
			{Kind: action.KindDelivered, Run: o.actions.Conclude},
			{Kind: action.KindCollected, Run: o.actions.StoreCollected, Batch: true},
			{Kind: destinations.KindQueue, Run: o.destinations.Retry},
			{Kind: destinations.KindDeleteDeliveries, Run: o.destinations.DeleteDeliveries},
		},
		o.runs.Handlers(), o.tasks.Handlers(), o.deployments.Handlers(), o.limits.Handlers(), o.logs.Handlers(), o.blocks.Handlers(),
		o.scheduler.Handlers(), pools.Handlers(), o.hosted.handlers(),
	)...)
}

// record records what stored events tell of: states of task runs, and assets. The error of a rejected event comes last, so a
// batch with one is recorded in full.
func (o *Orchestration) record(ctx context.Context, batch []events.Received) error {
	if err := o.assets.Record(ctx, batch); err != nil {
		return err
	}
	return o.tasks.Record(ctx, batch)
}

// records reports whether record handles events with a name.
func (o *Orchestration) records(event string) bool {
	return o.assets.Records(event) || o.tasks.Records(event)
}

// collections are those whose documents have effects, besides hostedCollections.
var collections = []query.Collection{
	query.Flow, query.FlowRun, query.TaskRun, query.Deployment, query.ConcurrencyLimit, query.Webhook, query.WebhookWatch,
	query.Artifact, query.ArtifactLatest, query.Variable, query.SavedSearch,
	query.BlockType, query.BlockSchema, query.BlockDocument, query.Automation, query.AutomationKey, query.Destination, query.DestinationDelivery, query.WorkPool, query.WorkQueue, query.RetentionPolicy, query.RunTimeouts,
	query.Backfill,
}

// Register adds the services to a server, in this process or over gRPC.
func (o *Orchestration) Register(r rpc.Registrar) {
	orchv1.RegisterFlowServiceServer(r, o.flows)
	orchv1.RegisterFlowRunServiceServer(r, o.runs)
	orchv1.RegisterFlowRunStateServiceServer(r, o.runs)
	orchv1.RegisterFlowRunInputServiceServer(r, o.runs)
	orchv1.RegisterUiFlowServiceServer(r, o.runs)
	orchv1.RegisterTaskRunServiceServer(r, o.tasks)
	orchv1.RegisterTaskRunStateServiceServer(r, o.tasks)
	orchv1.RegisterTaskWorkerServiceServer(r, o.workers)
	orchv1.RegisterUiTaskRunServiceServer(r, o.tasks)
	orchv1.RegisterFlowRunGraphServiceServer(r, o.graphs)
	orchv1.RegisterUiSchemaServiceServer(r, o.schemas)
	orchv1.RegisterDeploymentServiceServer(r, o.deployments)
	orchv1.RegisterUiScheduleServiceServer(r, o.deployments)
	orchv1.RegisterBackfillServiceServer(r, o.backfills)
	orchv1.RegisterConcurrencyLimitV2ServiceServer(r, o.limits)
	orchv1.RegisterConcurrencyLimitServiceServer(r, o.limits)
	orchv1.RegisterEventServiceServer(r, o.events)
	orchv1.RegisterEventTypeServiceServer(r, o.eventTypes)
	orchv1.RegisterLogServiceServer(r, o.logs)
	orchv1.RegisterFlowRunLogServiceServer(r, o.logs)
	orchv1.RegisterWebhookServiceServer(r, o.webhooks)
	orchv1.RegisterArtifactServiceServer(r, o.artifacts)
	orchv1.RegisterVariableServiceServer(r, o.variables)
	orchv1.RegisterSavedSearchServiceServer(r, o.searches)
	orchv1.RegisterAssetServiceServer(r, o.assets)
	orchv1.RegisterBlockTypeServiceServer(r, o.blocks)
	orchv1.RegisterBlockSchemaServiceServer(r, o.blocks)
	orchv1.RegisterBlockDocumentServiceServer(r, o.blocks)
	orchv1.RegisterBlockCapabilityServiceServer(r, o.blocks)
	orchv1.RegisterAutomationServiceServer(r, o.automations)
	orchv1.RegisterDestinationServiceServer(r, o.destinations)
	orchv1.RegisterAdminServiceServer(r, o.admin)
	orchv1.RegisterWorkPoolServiceServer(r, o.pools)
	orchv1.RegisterWorkQueueServiceServer(r, o.pools)
	orchv1.RegisterCleanupJobServiceServer(r, o.pools)
	orchv1.RegisterCollectionServiceServer(r, collectionviews.New())
	orchv1.RegisterObservedStateServiceServer(r, observedstates.New(o.store))
	orchv1.RegisterDeadLetterServiceServer(r, o.deadLetters)
	orchv1.RegisterRetentionServiceServer(r, o.retention)
	orchv1.RegisterRunTimeoutServiceServer(r, o.runTimeouts)
	o.hosted.register(r)
	o.runs.RegisterJSON(r)
	o.tasks.RegisterJSON(r)
	o.logs.RegisterJSON(r)
}

// Interceptors are what the calls of the gateway pass through, the first one outermost.
func (o *Orchestration) Interceptors() []grpc.UnaryServerInterceptor {
	around := append(o.ownInterceptors(), o.quotas.Interceptor())
	if o.keys {
		around = append(around, requireCaller)
	}
	return around
}

// ownInterceptors are what the service's own calls pass through. They act for a workspace, without a caller.
func (o *Orchestration) ownInterceptors() []grpc.UnaryServerInterceptor {
	around := []grpc.UnaryServerInterceptor{
		rpc.Recover(o.requestLog), statuserr.Interceptor(o.requestLog),
	}
	if o.tracer != nil {
		around = append([]grpc.UnaryServerInterceptor{o.tracer.Interceptor()}, around...)
	}
	return around
}

// Workers are what runs beside the calls, in the order of dependence.
func (o *Orchestration) Workers() []run.Worker {
	return append([]run.Worker{
		o.indexes,
		o.relay,
		outbox.Sweeper{Relay: o.relay},
		outbox.Sampler{Relay: o.relay},
		tenancy.Reconciler{Registry: o.hosted.registry},
		webhooks.Reconciler{Service: o.webhooks},
		webhooks.Recorder{Service: o.webhooks},
		events.Persister{Service: o.events},
		eventtypes.Recorder{Service: o.eventTypes},
		o.evaluator,
		o.actions,
		o.sender,
	}, o.timers(o.every)...)
}

// takesEvents reports whether the broker responds, and its stream of events has room.
func takesEvents(b *broker.Conn) func(context.Context) error {
	const nearlyFull = 0.95 // A frame that does not fit is refused before the stream is full.
	return func(ctx context.Context) error {
		status, err := b.Status(ctx)
		if err != nil {
			return fmt.Errorf("read the status of the broker: %w", err)
		}
		for _, stream := range status.Streams {
			if stream.Name == broker.StreamEvents && stream.MaxBytes > 0 && float64(stream.Bytes) > nearlyFull*float64(stream.MaxBytes) {
				return fmt.Errorf("%w: stream %s is full", broker.ErrUnavailable, stream.Name)
			}
		}
		return nil
	}
}

// taskWorkerWaker wakes a task worker that waits for runs of a task key. A worker that misses the wake-up polls later.
func taskWorkerWaker(feed *broker.Live, log *slog.Logger) func(ws uuid.UUID, taskKey string) {
	return func(ws uuid.UUID, taskKey string) {
		if err := feed.Publish(ws, []byte(taskKey)); err != nil {
			log.Warn("failed to wake a task worker", "error", err)
		}
	}
}

// workPoolNotifier tells the channels of a pool's workers that the pool was changed. A channel that misses it compares the
// pool with what it sent at the worker's next heartbeat.
func workPoolNotifier(feed *broker.LiveIDs, log *slog.Logger) workpools.Notify {
	return func(ws, pool uuid.UUID) {
		if err := feed.Publish(ws, pool); err != nil {
			log.Warn("failed to notify the channels of a work pool", "error", err)
		}
	}
}

// deliveryNotifier tells the pages that show a webhook's delivery log that it has grown. They miss what the feed loses.
func deliveryNotifier(feed *broker.LiveIDs, log *slog.Logger) func(ws, webhook uuid.UUID) {
	return func(ws, webhook uuid.UUID) {
		if err := feed.Publish(ws, webhook); err != nil {
			log.Warn("failed to notify the pages of a delivery log", "error", err)
		}
	}
}

// waitingRunNotifier tells the channels of a pool's workers that runs wait. A channel that misses it finds them when it polls.
func waitingRunNotifier(feed *broker.Live, log *slog.Logger) func(ws uuid.UUID, pool string) {
	return func(ws uuid.UUID, pool string) {
		if err := feed.Publish(ws, []byte(pool)); err != nil {
			log.Warn("failed to notify the channels of a work pool of runs", "error", err)
		}
	}
}

// Reconcile brings the webhook definitions up to date, as the worker of that name does at the start.
func (o *Orchestration) Reconcile(ctx context.Context) error { return o.webhooks.Reconcile(ctx) }

// Ready tells why calls cannot be served, nil when they can.
func (o *Orchestration) Ready(ctx context.Context) error {
	return errors.Join(o.store.Ping(ctx), o.broker.Healthy())
}

// RegisterHealth registers the health checks of the service.
func (o *Orchestration) RegisterHealth(ctx context.Context, h *run.Health) {
	h.Check("store and broker", func() error { return o.Ready(ctx) })
	h.Note("indexes", o.indexes.State)
}

// Close ends the connections to the database.
func (o *Orchestration) Close(ctx context.Context) error { return o.store.Close(ctx) }
