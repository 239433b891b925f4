package hooks

import (
	"context"

	"github.com/orch-project/orch/pkg/telemetry"
)

// Probe asks the hooks service that runs with these settings on this machine whether it is ready.
func Probe(ctx context.Context, cfg Config) error {
	return telemetry.Probe(ctx, cfg.InternalListen, "/ready")
}
