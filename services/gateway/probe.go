package gateway

import (
	"context"

	"github.com/orch-project/orch/pkg/telemetry"
)

// Probe reports whether the gateway that runs with these settings on this machine is ready.
func Probe(ctx context.Context, cfg Config) error {
	return telemetry.Probe(ctx, cfg.Listen, "/api/ready")
}
