package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/services/standalone"
)

// errSick reports that the parts of a data directory disagree.
var errSick = errors.New("documents, indexes and counters do not agree")

func doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check a data directory while no server uses it",
		Long: `Check a data directory that no server runs on, without writing to it: every document is read, and documents, indexes
and counters must agree. What cannot be read, or disagrees, is named; the exit status is 1 then.`,
		Args: cobra.NoArgs,
	}
	dataDir := dataDirFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		path, err := dataDir()
		if err != nil {
			return err
		}
		report, err := standalone.Check(cmd.Context(), path)
		if err != nil {
			return err
		}
		for _, c := range report.Collections {
			fmt.Fprintf(cmd.OutOrStdout(), "%-32s %10d documents", c.Namespace, c.Documents)
			if len(c.Problems) == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "   sound")
				continue
			}
			fmt.Fprintf(cmd.OutOrStdout(), "   %d problems\n", len(c.Problems))
			for _, problem := range c.Problems {
				fmt.Fprintf(cmd.OutOrStdout(), "  %s\n", problem)
			}
		}
		if !report.OK() {
			return fmt.Errorf("%w in %s", errSick, path)
		}
		return nil
	}
	return cmd
}
