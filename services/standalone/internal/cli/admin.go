package cli

import (
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
	cmd := &cobra.Command{
		Use:   "owner-key",
		Short: "Make another API key for the owner, who lost theirs",
		Long: `Make another API key for the owner of the server, and print it. The keys that there are stay valid.

No server may run on the data directory: whoever may stop it owns it.`,
		Args: cobra.NoArgs,
	}
	dataDir := dataDirFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		path, err := dataDir()
		if err != nil {
			return err
		}
		key, err := standalone.OwnerKey(cmd.Context(), path, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		fmt.Fprintln(cmd.OutOrStdout(), key)
		return nil
	}
	return cmd
}

func openAllowlistsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "open-allowlists",
		Short: "Let all accounts be used from everywhere again",
		Long: `Stop enforcing the lists of addresses that accounts may be used from, for whoever has none of the addresses any more.
The lists stay.

No server may run on the data directory: whoever may stop it owns it.`,
		Args: cobra.NoArgs,
	}
	dataDir := dataDirFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		path, err := dataDir()
		if err != nil {
			return err
		}
		opened, err := standalone.OpenAllowlists(cmd.Context(), path, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%d accounts can be used from everywhere again.\n", opened)
		return nil
	}
	return cmd
}
