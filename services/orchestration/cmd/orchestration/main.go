// Command orchestration keeps flows, runs, events and webhooks, and judges the states of runs, for the gateway.
package main

import (
	"context"
	"log/slog"

	"github.com/orch-project/orch/pkg/program"
	"github.com/orch-project/orch/pkg/tracing"
	"github.com/orch-project/orch/services/orchestration"
)

// version is set by the linker.
var version = "0.0.0+dev"

func main() {
	program.Main(program.Program[orchestration.Config]{
		Name:    "orchestration",
		Version: version,
		Probe:   orchestration.Probe,
		Tasks: []program.Task[orchestration.Config]{{
			Name: "owner-key", Usage: "make another API key for the owner, who lost theirs, print it and exit", Do: orchestration.OwnerKey,
		}, {
			Name: "reencrypt", Usage: "encrypt every stored secret with the first of the keys, so that the others can go, and exit", Do: orchestration.Reencrypt,
		}, {
			Name: "reencrypt-status", Usage: "print how many stored secrets are encrypted with the first of the keys, change nothing and exit", Do: orchestration.ReencryptionStatus,
		}, {
			Name: "upgrade-check", Usage: "print what the start would change in the database, change nothing and exit", Do: orchestration.UpgradeCheck(version),
		}, {
			Name: "check-totals", Usage: "count the stored hours again, print those that differ, change nothing and exit", Do: orchestration.TotalsCheckTask,
		}, {
			Name: "repair-totals", Usage: "count the stored hours again, repair those that differ and exit", Do: orchestration.TotalsRepairTask,
		}},
		Run: func(ctx context.Context, cfg orchestration.Config, log *slog.Logger, traces *tracing.Provider) error {
			return orchestration.RunProcess(ctx, cfg, version, log, traces)
		},
	})
}
