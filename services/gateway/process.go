package gateway

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/pkg/telemetry"
)

// RunProcess runs the gateway as a process of its own, with its internal address, until ctx ends.
func RunProcess(ctx context.Context, cfg Config, version string, log *slog.Logger) error {
	group := run.NewGroup(run.Options{DrainDelay: cfg.DrainDelay, Logger: log})
	registry := telemetry.NewRegistry("gateway", version)
	internal, err := telemetry.NewInternal(cfg.InternalListen, registry, group.Health())
	if err != nil {
		return err
	}
	g, err := New(cfg, Deps{
		Log:         log,
		Registry:    registry,
		Health:      group.Health(),
		Version:     version,
		InternalURL: "http://" + internal.Addr().String(),
	})
	if err != nil {
		_ = internal.Close() // The error at hand says more.
		return fmt.Errorf("start the gateway: %w", err)
	}
	group.Health().Check("orchestration", g.Reachable)
	group.Add(internal, g)
	return group.Run(ctx)
}
