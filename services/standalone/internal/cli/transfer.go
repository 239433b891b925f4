package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone"
)

func exportCommand() *cobra.Command {
	return transferCommand(&cobra.Command{
		Use:   "export --to URI",
		Short: "Copy a data directory that no server uses into a MongoDB server",
	}, "to", "the database; it must be empty", standalone.Export)
}

func importCommand() *cobra.Command {
	cmd := transferCommand(&cobra.Command{
		Use:   "import --from URI",
		Short: "Copy a database of a MongoDB server into a new data directory",
	}, "from", "the database",
		func(ctx context.Context, dataDir, uri, database string, progress standalone.Progress, log *slog.Logger) error {
			return standalone.Import(ctx, uri, database, dataDir, progress, log)
		})
	cmd.AddCommand(importPrefectCommand())
	return cmd
}

// transferCommand completes a command that copies between a data directory and a MongoDB server, whose address a flag
// sets.
func transferCommand(
	cmd *cobra.Command, flag, databaseUsage string,
	transfer func(ctx context.Context, dataDir, uri, database string, progress standalone.Progress, log *slog.Logger) error,
) *cobra.Command {
	var uri, database string
	cmd.Args = cobra.NoArgs
	dataDir := dataDirFlag(cmd)
	cmd.Flags().StringVar(&uri, flag, "", "MongoDB's connection string")
	cmd.Flags().StringVar(&database, "database", "orch", databaseUsage)
	_ = cmd.MarkFlagRequired(flag) // The flag exists: it was added above.
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		path, err := dataDir()
		if err != nil {
			return err
		}
		log, err := quietLogger(cmd)
		if err != nil {
			return err
		}
		bar := newBar(cmd.ErrOrStderr())
		defer bar.end()
		return transfer(cmd.Context(), path, uri, database, bar.show, log)
	}
	return cmd
}

// bar prints the progress of a copy: one line per collection, rewritten as it grows.
type bar struct {
	w       io.Writer
	current string
}

func newBar(w io.Writer) *bar { return &bar{w: w} }

// barWidth is the width of a full bar in characters.
const barWidth = 30

func (b *bar) show(collection string, done, total int64) {
	if b.current != "" && b.current != collection {
		fmt.Fprintln(b.w)
	}
	b.current = collection
	full := barWidth
	if total > done {
		full = int(done * barWidth / total)
	}
	fmt.Fprintf(b.w, "\r%-20s [%-*s] %d", collection, barWidth, repeat('#', full), done)
}

func (b *bar) end() {
	if b.current != "" {
		fmt.Fprintln(b.w)
	}
}

func repeat(c byte, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = c
	}
	return out
}
