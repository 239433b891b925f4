// Command hooks receives webhooks for Orch.
package main

import (
	"context"
	"log/slog"

	"github.com/orch-project/orch/pkg/program"
	"github.com/orch-project/orch/pkg/tracing"
	"github.com/orch-project/orch/services/hooks"
)

// version is set by the linker.
var version = "0.0.0+dev"

func main() {
	program.Main(program.Program[hooks.Config]{
		Name:    "hooks",
		Version: version,
		Probe:   hooks.Probe,
		Run: func(ctx context.Context, cfg hooks.Config, log *slog.Logger, traces *tracing.Provider) error {
			return hooks.RunProcess(ctx, cfg, version, log, traces)
		},
	})
}
