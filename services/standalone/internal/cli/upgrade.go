package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/services/standalone"
)

// errOnlyCheck reports an upgrade without --check: the server itself upgrades.
var errOnlyCheck = errors.New("orch server upgrades the data directory at its start; --check shows what it would change")

func upgradeCommand(version string) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "upgrade --check",
		Short: "Show what this version would change in a data directory while no server uses it",
		Long: `Show this version, the version that used a data directory last, and what this version would change in it at its start: the format of the
store and the migrations that lead to it. The command changes nothing, and exits with status 1 when this version cannot use the directory.`,
		Args: cobra.NoArgs,
	}
	dataDir := dataDirFlag(cmd)
	check := cmd.Flags().Bool("check", false, "show the changes")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !*check {
			return fmt.Errorf("%w: %w", errArgument, errOnlyCheck)
		}
		path, err := dataDir()
		if err != nil {
			return err
		}
		logging, err := config.Load[telemetry.Logging]()
		if err != nil {
			return err
		}
		return standalone.CheckUpgrade(cmd.Context(), version, path, cmd.OutOrStdout(), telemetry.NewLogger(cmd.ErrOrStderr(), "orch", logging))
	}
	return cmd
}
