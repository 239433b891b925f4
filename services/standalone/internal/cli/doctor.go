package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/embeddedmongo"
	"github.com/orch-project/orch/services/standalone"
)

// errSick reports that the parts of a data directory disagree.
var errSick = errors.New("documents, indexes and counters do not agree")

func doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check a data directory while no server uses it",
		Long: `Check a data directory that no server runs on, without writing to it. The command reads every document; documents, indexes
and counters must agree. It names each disagreement and exits with status 1 then. It also reports how many effects failed
permanently.`,
		Args: cobra.NoArgs,
	}
	dataDir := dataDirFlag(cmd)
	verbose := cmd.Flags().BoolP("verbose", "v", false, "list each kind of document")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		path, err := dataDir()
		if err != nil {
			return err
		}
		report, err := standalone.Check(cmd.Context(), path)
		if err != nil {
			return err
		}
		printReport(cmd.OutOrStdout(), report, *verbose)
		if !report.OK() {
			return fmt.Errorf("%w in %s", errSick, path)
		}
		return nil
	}
	return cmd
}

// deadLetterNamespace has the effects that failed permanently.
const deadLetterNamespace = "dead_letter"

func printReport(out io.Writer, report *embeddedmongo.Report, verbose bool) {
	var documents, problems, deadLetters int64
	for _, c := range report.Collections {
		_, name, _ := strings.Cut(c.Namespace, ".")
		kind := strings.ReplaceAll(name, "_", " ")
		documents += c.Documents
		problems += int64(len(c.Problems))
		if name == deadLetterNamespace {
			deadLetters = c.Documents
		}
		if verbose || len(c.Problems) > 0 {
			fmt.Fprintf(out, "%-32s %10d\n", kind, c.Documents)
		}
		for _, problem := range c.Problems {
			fmt.Fprintf(out, "  %s\n", problem)
		}
	}
	verdict := "sound"
	if problems > 0 {
		verdict = fmt.Sprintf("%d problems", problems)
	}
	fmt.Fprintf(out, "documents     %d, %s\n", documents, verdict)
	if deadLetters == 0 {
		fmt.Fprintln(out, "dead letters  no effect failed permanently")
		return
	}
	fmt.Fprintf(out, "dead letters  %d effects failed permanently; `orch dead-letters ls` lists them while the server runs\n", deadLetters)
}
