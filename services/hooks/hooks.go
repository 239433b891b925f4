// Package hooks is webhook ingestion: it turns HTTP requests of other systems into events by templates that users wrote.
//
//	request ──▶ receive ──▶ definition ──▶ guard ──▶ credential ──▶ body ──▶ signature ──▶ render ──▶ publish ──▶ 204
//	              405       404 · 503     403 · 429     401     400·413·415·503  401       204 · 400  400 · 503
//	                                          │           │            │          │           │         │
//	                                          └───────────┴────────────┴── failure event ─────┴─────────┘
//
// Handshakes get 200 where they are recognised: by header before the credential, by body after the signature. A duplicate
// delivery gets 204 and renders nothing, and so does a request that the webhook's filter drops. The outcome of each request reaches the webhook's delivery log asynchronously.
//
// A 204 means that the event is durable. A sender learns only the status of a refusal; the webhook's owner gets a failure
// event with the cause. A request needs no call to another service: webhook definitions are in memory, and the broker
// stores the event. The one exception are messages of Amazon SNS, whose certificates are fetched and cached.
//
// A webhook's slug is its secret. It is never logged, measured or published.
package hooks

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clientaddr"
	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/feeds"
	"github.com/orch-project/orch/pkg/id"
	"github.com/orch-project/orch/pkg/jinja"
	"github.com/orch-project/orch/pkg/ratelimit"
	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/pkg/safedial"
	"github.com/orch-project/orch/pkg/tracing"
	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	"github.com/orch-project/orch/pkg/webhook/render"
	"github.com/orch-project/orch/pkg/webhook/sns"
	"github.com/orch-project/orch/pkg/webhookdef"
	"github.com/orch-project/orch/services/hooks/internal/dedup"
	"github.com/orch-project/orch/services/hooks/internal/definitioncache"
	"github.com/orch-project/orch/services/hooks/internal/deliveries"
	"github.com/orch-project/orch/services/hooks/internal/guard"
	"github.com/orch-project/orch/services/hooks/internal/publish"
)

// openTimeout bounds how long New waits for the broker to open the bucket.
const openTimeout = 10 * time.Second

// Deps are the dependencies of the service.
type Deps struct {
	// Broker stores the events and holds the webhook definitions. Required; the owner closes it.
	Broker *broker.Conn
	// Log defaults to slog.Default().
	Log *slog.Logger
	// Registry receives the metrics; nil means that nobody reads them.
	Registry prometheus.Registerer
	// Tracer traces requests; nil is off.
	Tracer *tracing.Tracer
	// Clock dates the requests and refills their rates; nil means the machine's, and for rates that of the broker, which replicas share.
	Clock clock.Clock
	// IDs generates event ids; nil means id.System.
	IDs *id.Source
	// Admission bounds the bodies of the process; nil means those of this service, by its settings.
	Admission *admission.Controller
	// Roots are the certificate authorities of connections to providers; nil means the system's.
	Roots *x509.CertPool
}

// Hooks is the service.
type Hooks struct {
	cfg         Config
	log         *slog.Logger
	clock       clock.Clock
	ids         *id.Source
	broker      *broker.Conn
	tracer      *tracing.Tracer
	definitions *definitioncache.Cache
	directory   *directory.Directory // The keys of service accounts.
	renderer    *render.Engine
	events      sync.Pool // Of *render.EventMemory.
	publisher   *publish.Publisher
	guards      *guard.Registry
	rates       *ratelimit.Limiter
	proxies     clientaddr.Networks
	duplicates  dedup.Set
	admission   *admission.Controller
	recorder    *deliveries.Recorder
	listeners   *deliveries.Listeners
	sns         *sns.Client
	throttle    *throttle
	metrics     *metrics
	outage      rate.Sometimes // Limits the log lines of an outage.
	handler     http.Handler
}

// New wires the service. It opens the definition bucket, and creates it when absent.
func New(cfg Config, deps Deps) (*Hooks, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configure the hooks service: %w", err)
	}
	if deps.Broker == nil {
		return nil, errors.New("configure the hooks service: it needs a broker")
	}
	if deps.Log == nil {
		deps.Log = slog.Default()
	}
	if deps.Registry == nil {
		deps.Registry = prometheus.NewRegistry()
	}
	if deps.Admission == nil {
		deps.Admission = admission.New(cfg.BodyMemory)
	}
	ownClock := deps.Clock
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	if deps.IDs == nil {
		deps.IDs = id.System()
	}
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	bucket, err := deps.Broker.KeyValue(ctx, webhookdef.Bucket, broker.KVConfig{Description: "webhooks, for the hooks service"})
	if err != nil {
		return nil, fmt.Errorf("open webhook definitions: %w", err)
	}
	journal, err := deliverylog.Open(ctx, deps.Broker)
	if err != nil {
		return nil, fmt.Errorf("open delivery log: %w", err)
	}
	proxies, err := clientaddr.ParseNetworks(cfg.TrustedProxies)
	if err != nil {
		return nil, fmt.Errorf("parse trusted proxies: %w", err)
	}
	h := &Hooks{
		cfg: cfg, clock: deps.Clock, ids: deps.IDs, broker: deps.Broker, tracer: deps.Tracer,
		log:       deps.Log.With("component", "hooks"),
		events:    sync.Pool{New: func() any { return &render.EventMemory{} }},
		admission: deps.Admission,
		throttle:  newThrottle(deps.Clock),
		outage:    rate.Sometimes{First: 1, Interval: time.Second},
		metrics:   newMetrics(deps.Registry),
	}
	keys, err := deps.Broker.KeyValue(ctx, directory.Bucket, broker.KVConfig{Description: "who may do what, for gateway and hooks"})
	if err != nil {
		return nil, fmt.Errorf("open directory: %w", err)
	}
	h.directory = directory.New(directory.Options{Bucket: keys, Log: h.log})
	h.proxies = proxies
	outbound, err := safedial.ParsePolicy(cfg.OutboundNetworks)
	if err != nil {
		return nil, fmt.Errorf("parse outbound networks: %w", err)
	}
	store, err := ratelimit.OpenStore(ctx, deps.Broker)
	if err != nil {
		return nil, fmt.Errorf("open rate limits: %w", err)
	}
	if ownClock == nil {
		ownClock = store
	}
	h.rates = ratelimit.New(ratelimit.Options{States: store, Clock: ownClock})
	h.sns = sns.NewClient(sns.Options{Hosts: cfg.SNSHosts, Policy: outbound, Roots: deps.Roots, Clock: deps.Clock})
	if h.guards, err = guard.NewRegistry(cfg.Secrets, h.sns, cfg.accountRules(), h.rates); err != nil {
		return nil, err
	}
	h.recorder = deliveries.New(deliveries.Options{Journal: journal, Log: h.log, Dropped: h.metrics.unlogged, Clock: deps.Clock})
	registerBuffer(deps.Registry, h.recorder)
	h.listeners = deliveries.NewListeners(feeds.Listeners(deps.Broker), deps.Clock, h.log)
	h.definitions = definitioncache.New(definitioncache.Options{Bucket: bucket, Log: h.log, Gone: h.guards.Forget})
	h.renderer = render.New(render.Options{
		Vocabulary: cfg.Vocabulary, IDs: deps.IDs, Budget: jinja.Budget{Timeout: cfg.TemplateTimeout},
	})
	h.publisher = publish.New(publish.Options{
		Broker: deps.Broker.Publisher(), Vocabulary: cfg.Vocabulary, Timeout: cfg.AckTimeout, Acks: h.metrics.acks,
	})
	h.handler = h.routes()
	return h, nil
}

// Handler serves /hooks/{slug}. Before the workers run it returns 503.
func (h *Hooks) Handler() http.Handler { return h.handler }

// Workers returns the service's background workers: the watches of definitions and directory, which are ready once all
// webhooks and keys are loaded, the writer of the delivery log, the reader of its listeners, and the rate limits.
func (h *Hooks) Workers() []run.Worker {
	return []run.Worker{h.definitions, h.directory, h.recorder, h.listeners, h.rates}
}

// Run runs the workers, for a caller without a run.Group.
func (h *Hooks) Run(ctx context.Context) error {
	workers := h.Workers()
	ended := make(chan error, len(workers))
	for _, worker := range workers {
		go func() { ended <- worker.Run(ctx) }()
	}
	var err error
	for range workers {
		err = errors.Join(err, <-ended)
	}
	return err
}

// Ready returns why requests cannot be served; nil when they can. It never blocks.
func (h *Hooks) Ready() error {
	if err := errors.Join(h.definitions.Loaded(), h.directory.Loaded()); err != nil {
		return err
	}
	return h.broker.Healthy()
}
