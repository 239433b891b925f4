package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone"
)

func exportCommand() *cobra.Command {
	var uri, database string
	cmd := &cobra.Command{
		Use:   "export --to URI",
		Short: "Copy a data directory that no server runs on, or a backup, into a MongoDB server",
		Args:  cobra.NoArgs,
	}
	dataDir := dataDirFlag(cmd)
	cmd.Flags().StringVar(&uri, "to", "", "MongoDB's connection string")
	cmd.Flags().StringVar(&database, "database", "orch", "the database; it must be empty")
	_ = cmd.MarkFlagRequired("to") // The flag is there: it was made two lines above.
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
		return standalone.Export(cmd.Context(), path, uri, database, bar.show, log)
	}
	return cmd
}

func importCommand() *cobra.Command {
	var uri, database string
	cmd := &cobra.Command{
		Use:   "import --from URI",
		Short: "Copy a database of a MongoDB server into a new data directory",
		Args:  cobra.NoArgs,
	}
	dataDir := dataDirFlag(cmd)
	cmd.Flags().StringVar(&uri, "from", "", "MongoDB's connection string")
	cmd.Flags().StringVar(&database, "database", "orch", "the database")
	_ = cmd.MarkFlagRequired("from") // The flag is there: it was made two lines above.
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
		return standalone.Import(cmd.Context(), uri, database, path, bar.show, log)
	}
	return cmd
}

// bar shows how far a copy is: one line a collection, rewritten while it grows.
type bar struct {
	w       io.Writer
	current string
}

func newBar(w io.Writer) *bar { return &bar{w: w} }

// barWidth is the width of a full bar, in characters.
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
