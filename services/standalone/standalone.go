// Package standalone runs Orch in one process: the three services, the embedded broker and the embedded store.
//
//	data directory ──► embedded NATS ──► broker ───────────┬────────────────┐
//	        └────────► embedded store ──► orchestration ───┤                │
//	                                          ▲            ▼                ▼
//	                        client ──► gateway (calls in memory)  ──► hooks (in memory)
//
// This package contains no domain logic: it constructs the parts in dependency order and runs them. The same parts run
// as separate processes with the same settings.
package standalone

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/pkg/tracing"
	"github.com/orch-project/orch/pkg/webhook"
	"github.com/orch-project/orch/services/gateway"
	"github.com/orch-project/orch/services/hooks"
	"github.com/orch-project/orch/services/orchestration"
	"github.com/orch-project/orch/services/standalone/internal/control"
	"github.com/orch-project/orch/services/standalone/internal/datadir"
)

// Config holds the settings of a single binary: those of the services and the data directory.
type Config struct {
	DataDir        string `env:"ORCH_DATA_DIR" desc:"The data directory; the default is below the user's home."`
	InternalListen string `env:"ORCH_INTERNAL_LISTEN" envDefault:"127.0.0.1:9400" desc:"The address of metrics, profiles and health, or none."`
	UnsafeNoSync   bool   `env:"ORCH_UNSAFE_NO_SYNC" envDefault:"false" desc:"Acknowledge writes before they are synced to disk, so a power failure loses acknowledged data. For tests only."`
	Gateway        gateway.Config
	Hooks          hooks.Config
	Orchestration  orchestration.Config
	Logging        telemetry.Logging
	Tracing        tracing.Settings
}

// Validate implements config.Validator.
func (c *Config) Validate() error {
	return errors.Join(c.Gateway.Validate(), c.Hooks.Validate(), c.Orchestration.Validate())
}

// Server is a single binary's server.
type Server struct {
	group    *run.Group
	gateway  *gateway.Gateway
	internal *telemetry.Internal
	dataDir  string
	ownerKey string
	closers  []func(context.Context) error
}

// New opens the data directory and the addresses, and wires the parts. The caller either runs it or closes it.
func New(ctx context.Context, cfg Config, version string, log *slog.Logger) (_ *Server, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, err // Before New opens or creates anything.
	}
	if cfg.DataDir == "" {
		if cfg.DataDir, err = datadir.Default(); err != nil {
			return nil, err
		}
	}
	s := &Server{dataDir: cfg.DataDir, group: run.NewGroup(run.Options{DrainDelay: cfg.Gateway.DrainDelay, Logger: log})}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close(context.WithoutCancel(ctx)))
		}
	}()

	if cfg.UnsafeNoSync {
		log.WarnContext(ctx, "acknowledged writes are not synced to disk: ORCH_UNSAFE_NO_SYNC is set")
	}
	garbage := newCollector()
	dir, err := datadir.Open(cfg.DataDir, cfg.Gateway.Vocabulary)
	if err != nil {
		return nil, err
	}
	if cfg.Orchestration.Secrets, err = dir.Secrets(cfg.Orchestration.Secrets); err != nil {
		return nil, err
	}
	parts, err := openInfra(dir, "", cfg.UnsafeNoSync, log)
	if err != nil {
		return nil, err
	}
	s.closing(func(context.Context) error { return parts.Close() })

	conn, err := broker.Connect(ctx, broker.Config{InProcess: parts.nats.InProcess(), AllowLazySync: cfg.UnsafeNoSync, Logger: log})
	if err != nil {
		return nil, fmt.Errorf("connect to the embedded broker: %w", err)
	}
	s.closing(func(context.Context) error { conn.Close(); return nil })

	traces, err := tracing.Open(ctx, cfg.Tracing, tracing.Process{Name: "orch", Version: version, Log: log})
	if err != nil {
		return nil, err
	}
	s.closing(traces.Close)

	cfg.Orchestration.MongoDBURI, cfg.Orchestration.MongoDBDatabase = parts.store.URI(), databaseName
	cfg.Orchestration.Automations.UIURL = cmp.Or(cfg.Orchestration.Automations.UIURL, cfg.Gateway.DashboardURL())
	registry := telemetry.NewRegistry("standalone", version)
	registry.MustRegister(embeddedmongo.NewMetrics(parts.store))
	domain, err := orchestration.New(ctx, cfg.Orchestration, orchestration.Deps{
		Broker: conn, Dialer: parts.store.ContextDialer(), CompileTemplate: webhook.CompileCheck(cfg.Gateway.Vocabulary), Log: log,
		Registry: registry, Tracer: traces.Tracer("orchestration"),
	})
	if err != nil {
		return nil, err
	}
	s.closing(domain.Close)

	cfg.Hooks.Secrets, cfg.Hooks.TrustedProxies = cfg.Orchestration.Secrets, cfg.Gateway.TrustedProxies
	registry.MustRegister(broker.NewMetrics(conn))
	receiver, err := hooks.New(cfg.Hooks, hooks.Deps{Broker: conn, Log: log, Registry: registry, Tracer: traces.Tracer("hooks")})
	if err != nil {
		return nil, err
	}
	calls := rpc.NewLocal(domain.Interceptors()...)
	domain.Register(calls)

	if cfg.InternalListen != "none" {
		if s.internal, err = telemetry.NewInternal(cfg.InternalListen, registry, s.group.Health()); err != nil {
			return nil, fmt.Errorf("%w (set ORCH_INTERNAL_LISTEN to another address, or to none)", err)
		}
	}
	settings, err := config.JSON(cfg)
	if err != nil {
		return nil, err
	}
	s.gateway, err = gateway.New(cfg.Gateway, gateway.Deps{
		Caller: calls, Broker: conn, Hooks: receiver.Handler(), Log: log, Registry: registry,
		Health: s.group.Health(), Version: version, InternalURL: s.InternalURL(),
		Settings: settings, Tracer: traces.Tracer("gateway"),
	})
	if err != nil {
		return nil, err
	}

	socket, err := control.Listen(cfg.DataDir, onlineBackup(dir, parts, conn))
	if err != nil {
		return nil, err
	}
	s.closing(func(context.Context) error { return socket.Close() })

	// Last, because the key is printed once: nothing may fail between its creation and its output.
	if cfg.Gateway.Auth == "keys" {
		if s.ownerKey, err = domain.Welcome(ctx); err != nil {
			return nil, err
		}
	}

	domain.Describe(ctx, s.group.Health())
	s.group.Health().Check("webhook ingestion", receiver.Ready)
	if s.internal != nil {
		s.group.Add(s.internal)
	}
	s.group.Add(garbage, run.Func("embedded store", parts.store.Watch))
	s.group.Add(domain.Workers()...)
	s.group.Add(receiver.Workers()...)
	s.group.Add(s.gateway, socket)
	return s, nil
}

// closing collects closers and calls them in reverse order.
func (s *Server) closing(f func(context.Context) error) { s.closers = append(s.closers, f) }

// Addr is the address of the API, the dashboard and the webhooks.
func (s *Server) Addr() net.Addr { return s.gateway.Addr() }

// InternalURL is the address of metrics, profiles and health; empty if there is none.
func (s *Server) InternalURL() string {
	if s.internal == nil {
		return ""
	}
	return "http://" + s.internal.Addr().String()
}

// OwnerKey is the API key of the server's owner. It is empty except on the first start with API keys.
func (s *Server) OwnerKey() string { return s.ownerKey }

// DataDir is the path of the data directory.
func (s *Server) DataDir() string { return s.dataDir }

// Run serves until the context ends, then drains and closes everything.
func (s *Server) Run(ctx context.Context) error {
	err := s.group.Run(ctx)
	return errors.Join(err, s.closeAll(context.WithoutCancel(ctx)))
}

// Close releases what New acquired, for a server that never ran.
func (s *Server) Close(ctx context.Context) error {
	var errs []error
	if s.gateway != nil {
		errs = append(errs, s.gateway.Close())
	}
	if s.internal != nil {
		errs = append(errs, s.internal.Close())
	}
	return errors.Join(append(errs, s.closeAll(ctx))...)
}

func (s *Server) closeAll(ctx context.Context) error {
	var errs []error
	for _, v := range slices.Backward(s.closers) {
		errs = append(errs, v(ctx))
	}
	s.closers = nil
	return errors.Join(errs...)
}
