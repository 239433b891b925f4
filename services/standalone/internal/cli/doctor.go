package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orch-project/orch/pkg/config"
	"github.com/orch-project/orch/pkg/telemetry"
	"github.com/orch-project/orch/services/orchestration"
	"github.com/orch-project/orch/services/standalone"
)

// errSick reports that the parts of a data directory disagree, or are damaged.
var errSick = errors.New("documents, indexes, counters and streams are not as they were written")

func doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check a data directory while no server uses it, and repair a damaged one",
		Long: `Check a data directory that no server runs on, or a backup, without writing to it. The command reads every document and every
message of the streams. Documents, indexes and counters must agree, and no file may be damaged. It names each disagreement, each damaged
file and each document that cannot be read, and exits with status 1 then. It also reports how many effects failed permanently.

With --repair the command makes a new data directory of everything that can be read. Documents that cannot be read are taken from
the backup that --backup names, as they were then. The command names those, and what is lost: documents that the backup lacks, and messages.
The damaged directory and the backup stay as they are.

With --totals the command counts the runs and events of the stored hours again, and names the hours that differ. --fix repairs them.`,
		Args: cobra.NoArgs,
	}
	dataDir := dataDirFlag(cmd)
	verbose := cmd.Flags().BoolP("verbose", "v", false, "list each kind of document, and each document that a repair did not find")
	repair := cmd.Flags().String("repair", "", "new data directory for everything that can be read")
	backup := cmd.Flags().String("backup", "", "backup to take from what cannot be read (with --repair)")
	totals := cmd.Flags().Bool("totals", false, "count the stored hours again")
	since := spanFlag(cmd.Flags(), "since", "age of the first hour to count again (with --totals; all hours without)")
	fix := cmd.Flags().Bool("fix", false, "repair hours that differ (with --totals)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		path, err := dataDir()
		if err != nil {
			return err
		}
		if !*totals && (*fix || *since != 0) {
			return fmt.Errorf("%w: --since and --fix need --totals", errArgument)
		}
		if *since < 0 {
			return fmt.Errorf("%w: --since must not be negative", errArgument)
		}
		if *totals {
			return checkTotals(cmd, path, *since, *fix)
		}
		if *backup != "" && *repair == "" {
			return fmt.Errorf("%w: --backup needs --repair", errArgument)
		}
		if *repair != "" {
			report, err := standalone.Repair(cmd.Context(), path, *backup, *repair)
			if err != nil {
				return err
			}
			printRepair(cmd.OutOrStdout(), report, *repair, *verbose)
			return nil
		}
		report, err := standalone.Check(cmd.Context(), path)
		if err != nil {
			return fmt.Errorf("%w; orch doctor --repair DIR --backup BACKUP makes a data directory of the backup and of what can be read", err)
		}
		printReport(cmd.OutOrStdout(), report, *verbose)
		if !report.OK() {
			return fmt.Errorf("%w in %s", errSick, path)
		}
		return nil
	}
	return cmd
}

func checkTotals(cmd *cobra.Command, path string, age time.Duration, fix bool) error {
	check := orchestration.TotalsCheck{Repair: fix}
	if age > 0 {
		check.Since = time.Now().Add(-age)
	}
	logging, err := config.Load[telemetry.Logging]()
	if err != nil {
		return err
	}
	return standalone.CheckTotals(cmd.Context(), path, check, cmd.OutOrStdout(), telemetry.NewLogger(cmd.ErrOrStderr(), "orch", logging))
}

// deadLetterNamespace has the effects that failed permanently.
const deadLetterNamespace = "dead_letter"

func printReport(out io.Writer, report *standalone.DirectoryReport, verbose bool) {
	var documents, problems, deadLetters int64
	for _, damage := range report.Store.Damage {
		problems++
		fmt.Fprintf(out, "damaged       %s\n", damage)
	}
	for _, damage := range report.Streams {
		problems++
		fmt.Fprintf(out, "damaged       %s\n", damage)
	}
	for _, c := range report.Store.Collections {
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
		if c.Unreadable > 0 {
			fmt.Fprintf(out, "  %d documents that indexes list cannot be read\n", c.Unreadable)
		}
	}
	verdict := "sound"
	if problems > 0 {
		verdict = fmt.Sprintf("%d problems; orch doctor --repair DIR --backup BACKUP makes a sound data directory", problems)
	}
	fmt.Fprintf(out, "documents     %d, %s\n", documents, verdict)
	if deadLetters == 0 {
		fmt.Fprintln(out, "dead letters  no effect failed permanently")
		return
	}
	fmt.Fprintf(out, "dead letters  %d effects failed permanently; `orch dead-letter ls` lists them while the server runs\n", deadLetters)
}

// namedDocuments bounds the documents of a kind that a repair names without --verbose.
const namedDocuments = 20

func printRepair(out io.Writer, report *standalone.RepairReport, dir string, verbose bool) {
	for _, damage := range report.Store.Damage {
		fmt.Fprintf(out, "damaged       %s\n", damage)
	}
	for _, damage := range report.Streams {
		fmt.Fprintf(out, "damaged       %s\n", damage)
	}
	var restored, lost int
	for _, c := range report.Store.Collections {
		_, name, _ := strings.Cut(c.Namespace, ".")
		kind := strings.ReplaceAll(name, "_", " ")
		restored, lost = restored+len(c.FromBackup), lost+len(c.Lost)
		printNamed(out, kind, "from backup", c.FromBackup, verbose)
		printNamed(out, kind, "lost", c.Lost, verbose)
	}
	if report.Store.Unreadable {
		fmt.Fprintln(out, "documents     the store cannot be read: all are those of the backup, and changes since then are lost")
	} else {
		fmt.Fprintf(out, "documents     %d from the backup, as they were then; %d lost\n", restored, lost)
	}
	fmt.Fprintf(out, "repaired      start it with: orch server --data-dir %s, or orch infra\n", dir)
}

func printNamed(out io.Writer, kind, fate string, ids []string, verbose bool) {
	for i, id := range ids {
		if i == namedDocuments && !verbose {
			fmt.Fprintf(out, "%-13s %d more of kind %s; --verbose names them\n", fate, len(ids)-i, kind)
			return
		}
		fmt.Fprintf(out, "%-13s %s %s\n", fate, kind, id)
	}
}
