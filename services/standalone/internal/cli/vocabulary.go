package cli

import (
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/vocabulary"
	"github.com/orch-project/orch/services/orchestration"
	"github.com/orch-project/orch/services/standalone"
)

// storedData selects a data directory, or a database of a MongoDB server.
type storedData struct {
	dataDir       func() (string, error)
	uri, database string
}

func storedDataFlags(cmd *cobra.Command) *storedData {
	data := &storedData{dataDir: dataDirFlag(cmd)}
	cmd.Flags().StringVar(&data.uri, "from", "", "MongoDB's connection string, for a database instead of a data directory")
	cmd.Flags().StringVar(&data.database, "database", "orch", "the database")
	cmd.MarkFlagsMutuallyExclusive("data-dir", "from")
	return data
}

// do calls one of two functions: that for a data directory, or that for a database.
func (d *storedData) do(ofDirectory, ofDatabase func(where string) error) error {
	if d.uri != "" {
		return ofDatabase(d.uri)
	}
	path, err := d.dataDir()
	if err != nil {
		return err
	}
	return ofDirectory(path)
}

func vocabularyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "vocabulary",
		Short: "Show the vocabulary of a data directory or a database, or convert it",
		Long: `Show the vocabulary of a data directory that no server uses, or of a database: orch or prefect. A server starts only with the
vocabulary of its data.`,
		Args: cobra.NoArgs,
	}
	data := storedDataFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		log, err := quietLogger(cmd)
		if err != nil {
			return err
		}
		var mark string
		err = data.do(func(path string) (err error) {
			mark, err = standalone.Vocabulary(cmd.Context(), path, log)
			return err
		}, func(uri string) (err error) {
			mark, err = standalone.DatabaseVocabulary(cmd.Context(), uri, data.database)
			return err
		})
		if err != nil {
			return err
		}
		if c, ok := vocabulary.ParseConversion(mark); ok {
			return fmt.Errorf("the conversion from %s to %s has begun: %w", c.From, c.To, c.Err())
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), mark)
		return err
	}
	cmd.AddCommand(vocabularyConvertCommand())
	return cmd
}

func vocabularyConvertCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "convert --to orch|prefect",
		Short: "Convert the server's names in a data directory or a database while no server uses it",
		Long: `Convert the names that the server itself stores to another vocabulary: names of events and resources, labels, triggers, templates,
markers in parameters. Names of users and payloads of events stay. The report shows how many documents changed, the changed names of
automations, webhooks and deployments, and what the command left alone. Back up first.

Until the conversion is complete, no server starts on the data. After an interruption, the same command continues. A conversion
back restores the names.

For a database, stop gateway, hooks and orchestration. ORCH_NATS_URL and ORCH_SECRETS_KEY are those of orchestration: the command
also converts the events that the broker holds.`,
		Example: `  orch vocabulary convert --to prefect --dry-run
  orch vocabulary convert --to prefect --data-dir /var/lib/orch
  orch vocabulary convert --to prefect --from mongodb://mongo:27017 --database orch`,
		Args: cobra.NoArgs,
	}
	var to string
	var dryRun bool
	data := storedDataFlags(cmd)
	cmd.Flags().StringVar(&to, "to", "", "the vocabulary: orch or prefect")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "report what would change, and change nothing")
	_ = cmd.MarkFlagRequired("to") // The flag exists: it was added above.
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		target, err := vocabulary.Parse(to)
		if err != nil || to == "" {
			return fmt.Errorf("%w: --to: %q is neither orch nor prefect", errArgument, to)
		}
		log, err := quietLogger(cmd)
		if err != nil {
			return err
		}
		return convertVocabulary(cmd, data, target, dryRun, log)
	}
	return cmd
}

func convertVocabulary(cmd *cobra.Command, data *storedData, to vocabulary.Vocabulary, dryRun bool, log *slog.Logger) error {
	bar := newBar(cmd.ErrOrStderr())
	defer bar.end()
	how := orchestration.Conversion{To: to, DryRun: dryRun, Out: cmd.OutOrStdout(), Progress: bar.show}
	return data.do(
		func(path string) error { return standalone.ConvertVocabulary(cmd.Context(), path, how, log) },
		func(uri string) error {
			return standalone.ConvertDatabaseVocabulary(cmd.Context(), uri, data.database, how, log)
		})
}
