package cli

import (
	"bytes"
	"cmp"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone"
)

func importPrefectCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "prefect --from ADDRESS",
		Short: "Copy the database of a Prefect server into a data directory",
		Long: `Copy the database of a Prefect 3 server, on PostgreSQL or SQLite, with its history into a data directory that no server uses, or into
a database of a MongoDB server. Stop the Prefect server first: the command reads one state of its database, and changes nothing there.

Ids, times and states stay. The target has the vocabulary prefect. Existing documents stay: after an interruption, the same command
continues. The report says how many rows of each kind were stored, which ones break a rule, and which tables have no place.

Block documents are decrypted with the key in the Prefect database, or with PREFECT_SERVER_ENCRYPTION_KEY if the Prefect server has
that setting, and encrypted with the key of the target. For a MongoDB server, ORCH_SECRETS_KEY is that of orchestration.`,
		Example: `  orch import prefect --from sqlite:///$HOME/.prefect/prefect.db
  orch import prefect --from postgresql://prefect@db/prefect --data-dir /var/lib/orch
  orch import prefect --from postgresql://prefect@db/prefect --to mongodb://mongo:27017`,
		Args: cobra.NoArgs,
	}
	var from, to, database string
	dataDir := dataDirFlag(cmd)
	cmd.Flags().StringVar(&from, "from", "", "the database: postgresql://… or sqlite:///…")
	cmd.Flags().StringVar(&to, "to", "", "MongoDB's connection string, for a database instead of a data directory")
	cmd.Flags().StringVar(&database, "database", "orch", "the database of the MongoDB server")
	cmd.MarkFlagsMutuallyExclusive("data-dir", "to")
	_ = cmd.MarkFlagRequired("from") // The flag exists: it was added above.
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		log, err := quietLogger(cmd)
		if err != nil {
			return err
		}
		bar := newBar(cmd.ErrOrStderr())
		var report bytes.Buffer
		defer func() {
			bar.end()
			_, printed := report.WriteTo(cmd.OutOrStdout())
			err = errors.Join(err, printed)
		}()
		how := standalone.PrefectImport{
			From: from, Key: cmp.Or(os.Getenv("PREFECT_SERVER_ENCRYPTION_KEY"), os.Getenv("ORION_ENCRYPTION_KEY")),
			Out: &report, Progress: bar.show,
		}
		if to != "" {
			return standalone.ImportPrefectDatabase(cmd.Context(), to, database, how)
		}
		path, err := dataDir()
		if err != nil {
			return err
		}
		return standalone.ImportPrefect(cmd.Context(), path, how, log)
	}
	return cmd
}
