package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/otlp"
	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/pkg/tracing"
)

// RunProcess runs the gateway as its own process, with its internal address, until ctx ends. While the broker is away at
// the start it waits, and is not ready.
func RunProcess(ctx context.Context, cfg Config, version string, log *slog.Logger, traces *tracing.Provider) (err error) {
	group := run.NewGroup(run.Options{DrainDelay: cfg.DrainDelay, Logger: log})
	registry := telemetry.NewRegistry("gateway", version)
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
	if err := telemetry.Export(ctx, group, registry, otlp.Process{Name: "orch-gateway", Version: version, Log: log}); err != nil {
		return err
	}
	group.AddStep("connect to the broker", func(ctx context.Context) (err error) {
		conn, err = broker.Connect(ctx, cfg.Broker.ServiceConfig("orch-gateway", log))
		return err
	})
	group.AddStep("start the gateway", func(context.Context) error {
		g, err := New(cfg, Deps{
			Broker:      conn,
			Log:         log,
			Registry:    registry,
			Health:      group.Health(),
			Tracer:      traces.Tracer("gateway"),
			Version:     version,
			InternalURL: "http://" + internal.Addr().String(),
		})
		if err != nil {
			return fmt.Errorf("start the gateway: %w", err)
		}
		group.Health().Check("orchestration", g.Reachable)
		group.Health().Check("broker", conn.Healthy)
		group.Add(g)
		return nil
	})
	return group.Run(ctx)
}
