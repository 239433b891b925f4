package standalone

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/pkg/embeddednats"
	"github.com/orch-project/orch/pkg/otlp"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/pkg/tracing"
	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/gateway"
	"github.com/orch-project/orch/services/hooks"
	"github.com/orch-project/orch/services/orchestration"
	"github.com/orch-project/orch/services/standalone/internal/control"
	"github.com/orch-project/orch/services/standalone/internal/datadir"
)

// instance is the parts of a server with one vocabulary.
type instance struct {
	group    *run.Group
	dir      datadir.Dir
	gateway  *gateway.Gateway
	internal *telemetry.Internal
	ownerKey string
	closers  []func(context.Context) error
}

// newInstance opens the data directory and wires the parts. The caller either runs it or closes it.
func newInstance(ctx context.Context, cfg Config, version string, listener *gateway.Listener, log *slog.Logger) (_ *instance, err error) {
	s := &instance{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(context.WithoutCancel(ctx)))
		}
	}()

	if cfg.UnsafeNoSync {
		log.WarnContext(ctx, "acknowledged writes are not synced to disk: ORCH_UNSAFE_NO_SYNC is set")
	}
	dir, err := datadir.Open(cfg.DataDir, cfg.named())
	if err != nil {
		return nil, err
	}
	if cfg.Orchestration.Secrets, err = dir.Secrets(cfg.Orchestration.Secrets); err != nil {
		return nil, err
	}
	parts, err := openInfra(dir, embeddednats.Options{}, embeddedmongo.Options{NoSync: cfg.UnsafeNoSync, CacheBytes: cfg.StoreCache}, log)
	if err != nil {
		return nil, err
	}
	s.closing(func(context.Context) error { return parts.Close() })
	if !dir.Vocabulary.Decided() {
		if dir, err = settle(ctx, dir, parts.store); err != nil {
			return nil, err
		}
		cfg.Gateway.DrainDelay = 0 // Clients wait while the vocabulary is decided.
	}
	s.dir = dir
	cfg.Gateway.Vocabulary, cfg.Hooks.Vocabulary, cfg.Orchestration.Vocabulary = dir.Vocabulary, dir.Vocabulary, dir.Vocabulary
	cfg.Vocabulary = vocabulary.Named(dir.Vocabulary)
	s.group = run.NewGroup(run.Options{DrainDelay: cfg.Gateway.DrainDelay, Logger: log})

	conn, err := broker.Connect(ctx, broker.Config{
		InProcess: parts.nats.InProcess(), BucketBytes: cfg.Orchestration.Broker.BucketBytes, AllowLazySync: cfg.UnsafeNoSync, Logger: log,
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the embedded broker: %w", err)
	}
	s.closing(func(context.Context) error { conn.Close(); return nil })

	process := otlp.Process{Name: "orch", Version: version, Log: log}
	traces, err := tracing.Open(ctx, cfg.Tracing, process)
	if err != nil {
		return nil, err
	}
	s.closing(traces.Close)

	cfg.Orchestration.Auth = cfg.Gateway.Auth // Flags set that of the gateway.
	cfg.Orchestration.MongoDBURI, cfg.Orchestration.MongoDBDatabase = parts.store.URI(), databaseName
	cfg.Orchestration.Automations.UIURL = cmp.Or(cfg.Orchestration.Automations.UIURL, cfg.Gateway.DashboardURL())
	registry := telemetry.NewRegistry("standalone", version)
	if err := telemetry.Export(ctx, s.group, registry, process); err != nil {
		return nil, err
	}
	registry.MustRegister(embeddedmongo.NewMetrics(parts.store))
	bounds := admission.New(cfg.Gateway.BodyMemory + cfg.Hooks.Memory())
	domain, err := orchestration.New(ctx, cfg.Orchestration, orchestration.Deps{
		Broker: conn, Dialer: parts.store.ContextDialer(), Admission: bounds, Version: version, Log: log,
		Registry: registry, Tracer: traces.Tracer("orchestration"),
	})
	if err != nil {
		return nil, err
	}
	s.closing(domain.Close)

	cfg.Hooks.Secrets, cfg.Hooks.TrustedProxies = cfg.Orchestration.Secrets, cfg.Gateway.TrustedProxies
	registry.MustRegister(broker.NewMetrics(conn))
	receiver, err := hooks.New(cfg.Hooks, hooks.Deps{Broker: conn, Admission: bounds, Log: log, Registry: registry, Tracer: traces.Tracer("hooks")})
	if err != nil {
		return nil, err
	}
	calls := rpc.NewLocal(domain.Interceptors()...)
	domain.Register(calls)

	if cfg.InternalListen != "none" {
		if s.internal, err = telemetry.NewInternal(cfg.InternalListen, registry, s.group.Health(), cfg.Gateway.Internal.Options()...); err != nil {
			return nil, fmt.Errorf("%w (set ORCH_INTERNAL_LISTEN to another address, or to none)", err)
		}
	}
	settings, err := config.JSON(cfg)
	if err != nil {
		return nil, err
	}
	s.gateway, err = gateway.New(cfg.Gateway, gateway.Deps{
		Caller: calls, Broker: conn, Admission: bounds, Hooks: receiver.Handler(), Log: log, Registry: registry, Listener: listener,
		Health: s.group.Health(), Version: version, InternalURL: s.internalURL(),
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

	// Last, because the key is made once: nothing may fail between its creation and its file.
	if cfg.Gateway.Auth == "keys" {
		if s.ownerKey, err = domain.BootstrapOwnerKey(ctx); err != nil {
			return nil, err
		}
	}
	if s.ownerKey != "" {
		if err := dir.WriteOwnerKey(s.ownerKey); err != nil {
			return nil, err
		}
	}

	domain.RegisterHealth(ctx, s.group.Health())
	s.group.Health().Check("webhook ingestion", receiver.Ready)
	if s.internal != nil {
		s.group.Add(s.internal)
	}
	s.group.Add(run.Func("embedded store", parts.store.Watch))
	s.group.Add(domain.Workers()...)
	s.group.Add(receiver.Workers()...)
	s.group.Add(s.gateway, socket)
	return s, nil
}

// closing collects closers and calls them in reverse order.
func (s *instance) closing(f func(context.Context) error) { s.closers = append(s.closers, f) }

// internalURL is the address of metrics, profiles and health; empty if there is none.
func (s *instance) internalURL() string {
	if s.internal == nil {
		return ""
	}
	return "http://" + s.internal.Addr().String()
}

// internalListen returns the address of a successor's metrics: the actual one instead of one with any free port.
func (s *instance) internalListen(setting string) string {
	if s.internal == nil {
		return setting
	}
	return s.internal.Addr().String()
}

// run serves until the context ends, then drains and closes everything but the listener.
func (s *instance) run(ctx context.Context) error {
	err := s.group.Run(ctx)
	return errors.Join(err, s.closeAll(context.WithoutCancel(ctx)))
}

// close releases what newInstance acquired, for an instance that never ran.
func (s *instance) close(ctx context.Context) error {
	var errs []error
	if s.gateway != nil {
		errs = append(errs, s.gateway.Close())
	}
	if s.internal != nil {
		errs = append(errs, s.internal.Close())
	}
	return errors.Join(append(errs, s.closeAll(ctx))...)
}

func (s *instance) closeAll(ctx context.Context) error {
	var errs []error
	for _, v := range slices.Backward(s.closers) {
		errs = append(errs, v(ctx))
	}
	s.closers = nil
	return errors.Join(errs...)
}
