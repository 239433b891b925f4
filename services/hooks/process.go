package hooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clientaddr"
	"github.com/orch-project/orch/pkg/otlp"
	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/pkg/tlsfiles"
	"github.com/orch-project/orch/pkg/tracing"
)

// RunProcess runs the service as a process of its own, with its public and internal addresses, until ctx ends. While the
// broker is away at the start it waits, and is not ready.
func RunProcess(ctx context.Context, cfg Config, version string, log *slog.Logger, traces *tracing.Provider) (err error) {
	group := run.NewGroup(run.Options{DrainDelay: cfg.DrainDelay, Logger: log})
	registry := telemetry.NewRegistry("hooks", version)
	internal, err := telemetry.NewInternal(cfg.InternalListen, registry, group.Health(), cfg.Internal.Options()...)
	if err != nil {
		return err
	}
	var conn *broker.Conn
	defer func() {
		if conn != nil {
			err = errors.Join(err, conn.Close())
		}
	}()
	group.Add(internal)
	if err := telemetry.Export(ctx, group, registry, otlp.Process{Name: "orch-hooks", Version: version, Log: log}); err != nil {
		return err
	}
	group.AddStep("connect to the broker", func(ctx context.Context) (err error) {
		conn, err = broker.Connect(ctx, cfg.Broker.ServiceConfig("orch-hooks", log))
		return err
	})
	group.AddStep("start the hooks service", func(context.Context) error {
		h, err := New(cfg, Deps{Broker: conn, Log: log, Registry: registry, Tracer: traces.Tracer("hooks")})
		if err != nil {
			return fmt.Errorf("start the hooks service: %w", err)
		}
		files, err := tlsfiles.Load(cfg.TLS, tlsfiles.Options{Log: log})
		if err != nil {
			return err
		}
		unnamed := clientaddr.NewUnnamed(h.proxies, telemetry.Register(registry, clientaddr.NewUnnamedCounter()), h.log)
		public, err := listen(cfg.Listen, files, unnamed.Handler(h.Handler()), h.log)
		if err != nil {
			return err
		}
		group.Health().Check("broker and webhook definitions", h.Ready)
		group.Add(h.Workers()...)
		group.Add(public)
		return nil
	})
	return group.Run(ctx)
}
