package orchestration

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/pkg/webhook"
)

// RunProcess runs the service as a process of its own, with its gRPC and internal addresses, until ctx ends.
func RunProcess(ctx context.Context, cfg Config, version string, log *slog.Logger) (err error) {
	registry := telemetry.NewRegistry("orchestration", version)
	o, closing, err := open(ctx, cfg, log, registry)
	if err != nil {
		return fmt.Errorf("start the orchestration service: %w", err)
	}
	defer func() { err = errors.Join(err, closing(context.WithoutCancel(ctx))) }()

	if cfg.Auth == "keys" {
		key, err := o.Welcome(ctx)
		if err != nil {
			return fmt.Errorf("start the orchestration service: %w", err)
		}
		if key != "" { // Never into the log, which is kept.
			fmt.Fprintf(os.Stdout, "The owner's API key, shown this once: %s\n", key)
		}
	}
	server := rpc.NewServer(o.Interceptors()...)
	o.Register(server)
	ln, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", cfg.Listen, err)
	}
	group := run.NewGroup(run.Options{Logger: log})
	internal, err := telemetry.NewInternal(cfg.InternalListen, registry, group.Health())
	if err != nil {
		_ = ln.Close() // The error at hand says more.
		return err
	}
	group.Health().Check("store and broker", func() error { return o.Ready(ctx) })
	group.Add(internal)
	group.Add(o.Workers()...)
	group.Add(run.Func("grpc", func(ctx context.Context) error { return server.Serve(ctx, ln) }))
	return group.Run(ctx)
}

// open connects to broker and store as settings say. A nil registry disables metrics.
func open(ctx context.Context, cfg Config, log *slog.Logger, registry prometheus.Registerer) (_ *Orchestration, closing func(context.Context) error, err error) {
	conn, err := broker.Connect(ctx, cfg.Broker.Config("orch-orchestration", log))
	if err != nil {
		return nil, nil, err
	}
	if registry != nil {
		registry.MustRegister(broker.NewMetrics(conn))
	}
	o, err := New(ctx, cfg, Deps{Broker: conn, CompileTemplate: webhook.CompileCheck(cfg.Vocabulary), Log: log, Registry: registry})
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return o, func(ctx context.Context) error { return errors.Join(o.Close(ctx), conn.Close()) }, nil
}
