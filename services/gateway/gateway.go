// Package gateway serves the public HTTP interface of Orch: the REST API, authentication, the dashboard, and a proxy to
// the hooks service.
//
//	             ┌─ /hooks/… ─────────────────────────────────▶ hooks service
//	requestlog ──┤
//	             │            ┌─ /api, /api/v1 ─┬▶ transcode ──▶ orchestration service
//	             └─ guard ────┤                 │      └───────▶ serverinfo (in this process)
//	                          │                 └▶ stream (websockets) ──▶ broker, orchestration service
//	                          └─ /, /docs ───────▶ web
//
// requestlog gives every request its id, log line and metrics. guard checks Host, Origin and credentials. Webhook
// requests bypass the guard: the secret in their path is their credential.
package gateway

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/auth"
	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clientaddr"
	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/openapi"
	"github.com/orch-project/orch/pkg/quota"
	"github.com/orch-project/orch/pkg/ratelimit"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/pkg/tracing"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/gateway/internal/address"
	"github.com/orch-project/orch/services/gateway/internal/authn"
	"github.com/orch-project/orch/services/gateway/internal/authz"
	"github.com/orch-project/orch/services/gateway/internal/maintenance"
	"github.com/orch-project/orch/services/gateway/internal/refusals"
	"github.com/orch-project/orch/services/gateway/internal/requestlog"
	"github.com/orch-project/orch/services/gateway/internal/serverinfo"
	"github.com/orch-project/orch/services/gateway/internal/stream"
	"github.com/orch-project/orch/services/gateway/internal/transcode"
	"github.com/orch-project/orch/services/gateway/internal/web"
	"github.com/orch-project/orch/services/gateway/internal/web/session"
)

// Deps are the gateway's dependencies. The zero value means that all other services run in other processes.
type Deps struct {
	// Caller serves all rpcs except the gateway's own; nil dials Config.OrchestrationAddr.
	Caller rpc.Caller
	// Broker is the process's connection; the caller closes it. Without a broker there are no websockets, no API keys,
	// and only the default account and workspace.
	Broker *broker.Conn
	// Listener accepts the connections; the caller closes it. Nil listens on Config.Listen.
	Listener *Listener
	// Hooks serves /hooks/; nil forwards requests to Config.HooksAddr.
	Hooks http.Handler
	// Log defaults to slog.Default().
	Log *slog.Logger
	// Registry collects the metrics; nil disables them.
	Registry *prometheus.Registry
	// Admission bounds the bodies of the process; nil means those of the gateway, by its settings.
	Admission *admission.Controller
	// Health reports the state of the process that embeds the gateway; nil for a gateway of its own process.
	Health *run.Health
	// Version is the server's version.
	Version string
	// Settings are the process's settings without secrets, as a JSON object; nil shows the gateway's own.
	Settings []byte
	// Tracer traces requests; nil is off.
	Tracer *tracing.Tracer
	// InternalURL is the address of the metrics, for the status page; empty when unknown.
	InternalURL string
}

// Gateway is a run.Worker that serves HTTP.
type Gateway struct {
	cfg         Config
	deps        Deps
	log         *slog.Logger
	listener    *Listener
	requests    sync.WaitGroup // Counts the requests in flight.
	addresses   *address.Resolver
	guard       *authn.Guard
	authorizer  *authz.Authorizer
	mode        authn.Mode
	directory   *directory.Directory // Nil without a broker.
	maintenance *maintenance.Switch
	infoService *rpc.Local
	caller      rpc.Caller
	api         *transcode.Transcoder
	site        *web.Site
	sessions    *session.Store
	sockets     *stream.Server // Nil without a broker.
	denied      *refusals.Log  // Clients of another vocabulary.
	events      *quota.EventLimiter
	rates       *ratelimit.Limiter
	hooks       http.Handler
	handler     http.Handler
	closers     []func()
	ready       []func() error
	draining    atomic.Bool
}

// New builds a gateway and listens on its address, so a busy port or an unsafe setting is an error before anything
// starts. The caller either runs it or closes it.
func New(cfg Config, deps Deps) (_ *Gateway, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("configure the gateway: %w", err)
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
	g := &Gateway{cfg: cfg, deps: deps, log: deps.Log.With("component", "gateway")}
	defer func() {
		if err != nil {
			_ = g.Close() // The first error explains more.
		}
	}()
	if err := g.connect(); err != nil {
		return nil, err
	}
	if err := g.build(); err != nil {
		return nil, err
	}
	if g.listener = deps.Listener; g.listener != nil {
		return g, nil
	}
	if g.listener, err = Listen(cfg.Listen, nil, g.log); err != nil {
		return nil, err
	}
	g.closers = append(g.closers, func() { _ = g.listener.Close() }) // Run has closed it already.
	return g, nil
}

// build constructs the handlers, innermost first.
func (g *Gateway) build() error {
	var err error
	if g.addresses, err = g.cfg.addresses(); err != nil {
		return err
	}
	options := authn.Options{
		Insecure: g.cfg.Insecure,
		// Requests may always name the listen host.
		AllowedHosts: append(slices.Clone(g.cfg.AllowedHosts), g.cfg.Listen),
		Origins:      g.cfg.CORSOrigins,
		Resolver:     g.addresses,
	}
	if g.cfg.AuthBasic != "" {
		basic, err := auth.ParseBasic(g.cfg.AuthBasic)
		if err != nil {
			return err
		}
		options.Basic = &basic
		if basic.Guessable() {
			g.log.Warn("ORCH_AUTH_BASIC has a short password and attempts are not rate-limited; use a random password or API keys")
		}
	}
	g.mode = g.cfg.mode()
	options.Keys = g.mode == authn.ByKey
	g.guard = authn.New(options)
	settings := g.deps.Settings
	if settings == nil {
		if settings, err = config.JSON(g.cfg); err != nil {
			return err
		}
	}
	shown, err := serverinfo.NewSettings(settings)
	if err != nil {
		return err
	}
	g.infoService = rpc.NewLocal(rpc.Recover(g.log))
	orchv1.RegisterServerServiceServer(g.infoService, &serverinfo.Server{
		Version:    g.deps.Version,
		Vocabulary: g.cfg.Vocabulary,
		Settings:   shown,
		Tenants:    g.mode == authn.ByKey,
		Ready:      g.Ready,
	})
	if err := g.openMaintenance(); err != nil {
		return err
	}
	if err := g.openEventQuota(); err != nil {
		return err
	}
	g.denied = refusals.New(refusals.Options{Broker: g.deps.Broker, Vocabulary: g.cfg.Vocabulary, Log: g.log})
	g.authorizer = authz.New(authz.Options{
		Mode: g.mode, Guard: g.guard, Directory: g.directory, Addresses: g.addresses, Broker: g.deps.Broker,
		Vocabulary: g.cfg.Vocabulary, Refused: g.denied, Log: g.log,
	})
	g.api, err = transcode.New(transcode.Options{
		Services:   openapi.Services(),
		Caller:     g.callerOf,
		Authorizer: g.authorizer,
		Admission:  g.deps.Admission,
		Large:      admission.NewSemaphore(transcode.LargeBodies()),
		Log:        g.log,
	})
	if err != nil {
		return fmt.Errorf("build the API: %w", err)
	}
	g.openSockets()
	if err := g.openSite(); err != nil {
		return err
	}
	trusted, err := clientaddr.ParseNetworks(g.cfg.TrustedProxies)
	if err != nil {
		return fmt.Errorf("read the trusted proxies: %w", err)
	}
	g.handler = requestlog.Handler(requestlog.Options{
		Log:        g.log,
		Registry:   g.deps.Registry,
		Slow:       g.cfg.SlowRequest,
		Vocabulary: g.cfg.Vocabulary,
		Tracer:     g.deps.Tracer,
	}, clientaddr.NewUnnamed(trusted, telemetry.Register(g.deps.Registry, clientaddr.NewUnnamedCounter()), g.log).Handler(http.HandlerFunc(g.route)))
	return nil
}

// callerOf returns the caller that serves an rpc: this process for the gateway's own, which a maintenance does not refuse.
func (g *Gateway) callerOf(method string) rpc.Caller {
	if g.infoService.Has(method) {
		return g.infoService
	}
	switch refusing := g.maintenance.Refusing(); {
	case refusing != nil:
		return refusing
	case method == orchv1.EventService_CreateEvents_FullMethodName:
		return recorder{limitedEvents{g.caller, g.events}, g.denied}
	}
	return g.caller
}

// Handler serves every route of the gateway, for callers that listen themselves.
func (g *Gateway) Handler() http.Handler { return g.handler }

// Addr is the address that the gateway listens on.
func (g *Gateway) Addr() net.Addr { return g.listener.Addr() }

// Name implements run.Worker.
func (g *Gateway) Name() string { return "gateway" }

// Ready returns why the gateway cannot serve requests, nil when it can.
func (g *Gateway) Ready() error {
	if g.draining.Load() {
		return errDraining
	}
	if g.mode == authn.ByKey {
		if err := g.directory.Current(); err != nil {
			return err
		}
	}
	if g.deps.Health != nil {
		report := g.deps.Health.Ready()
		for _, item := range report.Checks {
			if !item.OK {
				return fmt.Errorf("%s: %s", item.Name, item.Error)
			}
		}
		if !report.OK {
			return fmt.Errorf("the process is %s", report.Phase)
		}
	}
	return g.Reachable()
}

// Reachable returns which dependency cannot be reached, nil when all can.
func (g *Gateway) Reachable() error {
	for _, check := range g.ready {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// Close releases what New acquired, for a gateway that never ran.
func (g *Gateway) Close() error {
	for _, c := range g.closers {
		c()
	}
	g.closers = nil
	return nil
}

var _ run.Worker = (*Gateway)(nil)
