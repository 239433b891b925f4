package hooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/run"
	"github.com/orch-project/orch/pkg/telemetry"
)

// RunProcess runs the service as a process of its own, with its public and internal addresses, until ctx ends.
func RunProcess(ctx context.Context, cfg Config, version string, log *slog.Logger) (err error) {
	conn, err := broker.Connect(ctx, cfg.Broker.Config("orch-hooks", log))
	if err != nil {
		return fmt.Errorf("start the hooks service: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()

	group := run.NewGroup(run.Options{DrainDelay: cfg.DrainDelay, Logger: log})
	registry := telemetry.NewRegistry("hooks", version)
	h, err := New(cfg, Deps{Broker: conn, Log: log, Registry: registry})
	if err != nil {
		return fmt.Errorf("start the hooks service: %w", err)
	}
	internal, err := telemetry.NewInternal(cfg.InternalListen, registry, group.Health())
	if err != nil {
		return err
	}
	public, err := listen(cfg.Listen, h.Handler(), h.log)
	if err != nil {
		return errors.Join(err, internal.Close())
	}
	group.Health().Check("broker and webhook definitions", h.Ready)
	group.Add(internal)
	group.Add(h.Workers()...)
	group.Add(public)
	return group.Run(ctx)
}
