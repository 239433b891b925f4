package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/pkg/telemetry"
)

// RunProcess runs the gateway as its own process, with its internal address, until ctx ends.
func RunProcess(ctx context.Context, cfg Config, version string, log *slog.Logger) (err error) {
	conn, err := broker.Connect(ctx, cfg.Broker.Config("orch-gateway", log))
	if err != nil {
		return fmt.Errorf("start the gateway: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()

	group := run.NewGroup(run.Options{DrainDelay: cfg.DrainDelay, Logger: log})
	registry := telemetry.NewRegistry("gateway", version)
	internal, err := telemetry.NewInternal(cfg.InternalListen, registry, group.Health())
	if err != nil {
		return err
	}
	g, err := New(cfg, Deps{
		Broker:      conn,
		Log:         log,
		Registry:    registry,
		Health:      group.Health(),
		Version:     version,
		InternalURL: "http://" + internal.Addr().String(),
	})
	if err != nil {
		_ = internal.Close() // The first error explains more.
		return fmt.Errorf("start the gateway: %w", err)
	}
	group.Health().Check("orchestration", g.Reachable)
	group.Health().Check("broker", conn.Healthy)
	group.Add(internal, g)
	return group.Run(ctx)
}
