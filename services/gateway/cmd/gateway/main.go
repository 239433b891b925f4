// Command gateway serves the REST API of Orch.
package main

import (
	"context"
	"log/slog"

	"github.com/orch-project/orch/pkg/program"
	"github.com/orch-project/orch/pkg/tracing"
	"github.com/orch-project/orch/services/gateway"
)

// version is set by the linker.
var version = "0.0.0+dev"

func main() {
	program.Main(program.Program[gateway.Config]{
		Name:    "gateway",
		Version: version,
		Probe:   gateway.Probe,
		Run: func(ctx context.Context, cfg gateway.Config, log *slog.Logger, traces *tracing.Provider) error {
			return gateway.RunProcess(ctx, cfg, version, log, traces)
		},
	})
}
