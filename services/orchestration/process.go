package orchestration

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/otlp"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/pkg/tlsfiles"
	"github.com/orch-project/orch/pkg/tracing"
)

// RunProcess runs the service as a process of its own, with its gRPC and internal addresses, until ctx ends. While broker
// or store are away at the start it waits, and is not ready.
func RunProcess(ctx context.Context, cfg Config, version string, log *slog.Logger, traces *tracing.Provider) (err error) {
	group := run.NewGroup(run.Options{Logger: log})
	registry := telemetry.NewRegistry("orchestration", version)
	internal, err := telemetry.NewInternal(cfg.InternalListen, registry, group.Health(), cfg.Internal.Options()...)
	if err != nil {
		return err
	}
	closing := func(context.Context) error { return nil }
	defer func() { err = errors.Join(err, closing(context.WithoutCancel(ctx))) }()
	group.Add(internal)
	if err := telemetry.Export(ctx, group, registry, otlp.Process{Name: "orch-orchestration", Version: version, Log: log}); err != nil {
		return err
	}
	group.AddStep("connect to broker and store", func(starting context.Context) error {
		conn, err := broker.Connect(starting, cfg.Broker.ServiceConfig("orch-orchestration", log))
		if err != nil {
			return err
		}
		closing = func(context.Context) error { return conn.Close() }
		registry.MustRegister(broker.NewMetrics(conn))
		o, err := New(starting, cfg, Deps{
			Broker: conn, Version: version, Log: log, Registry: registry, WaitForStore: true,
			Tracer: traces.Tracer("orchestration"),
		})
		if err != nil {
			return fmt.Errorf("start the orchestration service: %w", err)
		}
		closing = func(ctx context.Context) error { return errors.Join(o.Close(ctx), conn.Close()) }
		return o.addTo(starting, group, cfg)
	})
	return group.Run(ctx)
}

// addTo adds the service's workers and its gRPC address to a group that starts.
func (o *Orchestration) addTo(ctx context.Context, group *run.Group, cfg Config) error {
	if cfg.Auth == "keys" {
		if err := o.welcome(ctx, cfg.OwnerKeyFile); err != nil {
			return fmt.Errorf("start the orchestration service: %w", err)
		}
	}
	files, err := tlsfiles.Load(cfg.TLS, tlsfiles.Options{Log: o.log})
	if err != nil {
		return err
	}
	server := rpc.NewSecureServer(rpc.ServerCredentials(files, cfg.TLSClients...), o.Interceptors()...)
	o.Register(server)
	ln, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", cfg.Listen, err)
	}
	o.RegisterHealth(context.WithoutCancel(ctx), group.Health())
	group.Add(o.Workers()...)
	group.Add(run.Func("grpc", func(ctx context.Context) error { return server.Serve(ctx, ln) }))
	return nil
}

// open connects to broker and store as settings say, for a task of short duration.
func open(ctx context.Context, cfg Config, log *slog.Logger) (_ *Orchestration, closing func(context.Context) error, err error) {
	conn, err := broker.Connect(ctx, cfg.Broker.Config("orch-orchestration", log))
	if err != nil {
		return nil, nil, err
	}
	o, err := New(ctx, cfg, Deps{Broker: conn, Log: log})
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return o, func(ctx context.Context) error { return errors.Join(o.Close(ctx), conn.Close()) }, nil
}
