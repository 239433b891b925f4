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
		Short: "Work on a data directory that no server runs on",
	}
	cmd.AddCommand(ownerKeyCommand(), openAllowlistsCommand())
	return cmd
}

func ownerKeyCommand() *cobra.Command {
	return offline(&cobra.Command{
		Use:   "owner-key",
		Short: "Make another API key for the owner, who lost theirs",
		Long: `Make another API key for the owner of the server, and print it. The keys that there are stay valid.

No server may run on the data directory: whoever may stop it owns it.`,
	}, standalone.OwnerKey, "%s\n")
}

func openAllowlistsCommand() *cobra.Command {
	return offline(&cobra.Command{
		Use:   "open-allowlists",
		Short: "Let all accounts be used from everywhere again",
		Long: `Stop enforcing the lists of addresses that accounts may be used from, for whoever has none of the addresses any more.
The lists stay.

No server may run on the data directory: whoever may stop it owns it.`,
	}, standalone.OpenAllowlists, "%d accounts can be used from everywhere again.\n")
}

// offline lets a command work on a data directory, and say what came of it.
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
