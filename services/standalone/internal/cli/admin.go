package cli

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone"
)

func adminCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "admin",
		Short: "Change a data directory while no server uses it",
	}
	cmd.AddCommand(ownerKeyCommand(), openAllowlistsCommand(), reencryptCommand())
	return cmd
}

func ownerKeyCommand() *cobra.Command {
	return offline(&cobra.Command{
		Use:   "owner-key",
		Short: "Create a new API key for the owner",
		Long: `Create an API key for the owner of the server, and print it. Existing keys stay valid.

No server may run on the data directory: whoever may stop it owns it.`,
	}, standalone.OwnerKey, "%s\n")
}

func openAllowlistsCommand() *cobra.Command {
	return offline(&cobra.Command{
		Use:   "open-allowlists",
		Short: "Turn off the address allow lists of all accounts",
		Long: `Stop enforcing the address allow lists of all accounts, for an owner who lost access to every listed address.
The lists stay.

No server may run on the data directory: whoever may stop it owns it.`,
	}, standalone.DisableAllowlists, "%d accounts can be used from everywhere again.\n")
}

func reencryptCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reencrypt",
		Short: "Encrypt every secret with the newest key",
		Long: `Encrypt every stored secret with the first key: of ORCH_SECRETS_KEY, or else of secrets.key in the data directory. The other keys
can go afterwards. The command prints its progress; after an interruption it continues where it was.
With --status it only prints how many secrets have the first key, and how many are left.

No server may run on the data directory. Beside running services: orchestration --reencrypt, and --reencrypt-status.`,
		Args: cobra.NoArgs,
	}
	dataDir := dataDirFlag(cmd)
	status := cmd.Flags().Bool("status", false, "print the progress and change nothing")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		path, err := dataDir()
		if err != nil {
			return err
		}
		log, err := quietLogger(cmd)
		if err != nil {
			return err
		}
		if *status {
			return standalone.ReencryptionStatus(cmd.Context(), path, cmd.OutOrStdout(), log)
		}
		return standalone.Reencrypt(cmd.Context(), path, cmd.OutOrStdout(), log)
	}
	return cmd
}

// offline builds a command that works on a data directory and prints the result.
func offline[T any](cmd *cobra.Command, work func(ctx context.Context, dataDir string, log *slog.Logger) (T, error), said string) *cobra.Command {
	cmd.Args = cobra.NoArgs
	dataDir := dataDirFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		path, err := dataDir()
		if err != nil {
			return err
		}
		result, err := work(cmd.Context(), path, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), said, result)
		return nil
	}
	return cmd
}
