package cli

import (
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/services/standalone"
	"github.com/orch-project/orch/services/standalone/internal/datadir"
)

// dataDirFlag adds --data-dir to a command and returns its reader.
func dataDirFlag(cmd *cobra.Command) func() (string, error) {
	path := cmd.Flags().String("data-dir", "", "the data directory (default: the user's)")
	return func() (string, error) {
		if *path != "" {
			return *path, nil
		}
		return datadir.Default()
	}
}

// quietLogger is the log of short commands: errors only.
func quietLogger(cmd *cobra.Command) (*slog.Logger, error) {
	logging, err := config.Load[telemetry.Logging]()
	if err != nil {
		return nil, err
	}
	logging.Level = max(logging.Level, slog.LevelWarn)
	return telemetry.NewLogger(cmd.ErrOrStderr(), "orch", logging), nil
}

func backupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup DIR",
		Short: "Copy the data directory into a new directory, with or without a running server",
		Long: `Copy the data directory of orch server or orch infra into a new directory.

The copy is consistent: everything that was acknowledged before the command is in it, and nothing by half. A process that
runs on the data directory makes the copy itself and goes on meanwhile. Behind orch infra, orchestration must run or
orch infra must be stopped, so that pending events are stored first.

With --base the copy shares unchanged files with an earlier backup on the same file system, and writes only what is new. Each
copy is complete: earlier ones may be deleted.

The copy contains secrets.key, with which whoever has it reads the secrets in the store. With --without-keys it does not: keep a copy of
the file elsewhere, because the secrets are lost without it.`,
		Args: cobra.ExactArgs(1),
	}
	dataDir := dataDirFlag(cmd)
	base := cmd.Flags().String("base", "", "earlier backup to share unchanged files with")
	withoutKeys := cmd.Flags().Bool("without-keys", false, "leave the keys of secrets out")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, err := dataDir()
		if err != nil {
			return err
		}
		log, err := quietLogger(cmd)
		if err != nil {
			return err
		}
		if err := standalone.Backup(cmd.Context(), path, args[0], standalone.BackupOptions{Base: *base, WithoutKeys: *withoutKeys}, log); err != nil {
			return err
		}
		hasKeys, err := standalone.HasKeys(args[0])
		if err != nil {
			return err
		}
		if hasKeys && *withoutKeys {
			return fmt.Errorf("%s has the keys of secrets: the running server is of an earlier version; restart it and repeat the backup", args[0])
		}
		keys := "without the keys of secrets"
		if hasKeys {
			keys = "with the keys of secrets"
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is a backup of %s, %s; orch restore makes a data directory of it\n", args[0], path, keys)
		return err
	}
	return cmd
}

func restoreCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "restore BACKUP",
		Short: "Create a data directory from a backup",
		Args:  cobra.ExactArgs(1),
	}
	dataDir := dataDirFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		path, err := dataDir()
		if err != nil {
			return err
		}
		if err := standalone.Restore(cmd.Context(), args[0], path); err != nil {
			return err
		}
		hasKeys, err := standalone.HasKeys(path)
		if err != nil {
			return err
		}
		if !hasKeys {
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "The backup has no keys of secrets: put secrets.key into %s, or set ORCH_SECRETS_KEY, before you start.\n", path)
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is restored; start it with: orch server --data-dir %s, or orch infra\n", path, path)
		return err
	}
	return cmd
}
