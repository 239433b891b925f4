// Command web measures the pages of the dashboard against their budgets: the time to the first byte with several readers, the
// sizes of pages, scripts and styles, the scatter of many runs, and the cost of open live pages.
//
//	make bench-web                               a million runs
//	make bench-web WEBRUNS=20000 BENCHFLAGS="-round 2s"
//
// Sizes beyond their budget fail. Times are printed, and fail with -enforce: they depend on the machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/orch-project/orch/test/bench/beside"
)

func main() { beside.Main("bench-web", run) }

// options are the flags.
type options struct {
	orch, dir             string
	newest                string
	readers, live         int
	round                 time.Duration
	enforce               bool
	scatterRuns, taskRuns int
}

func run(ctx context.Context) (err error) {
	var o options
	flag.StringVar(&o.orch, "orch", "bin/orch", "the binary")
	flag.StringVar(&o.dir, "dir", "", "data directory with the runs of bench-scale; empty measures a server with few runs")
	flag.StringVar(&o.newest, "newest", "2026-11-22T00:00:00Z", "time of the newest run in the data directory")
	flag.IntVar(&o.readers, "readers", 20, "concurrent readers of each page")
	flag.DurationVar(&o.round, "round", 5*time.Second, "time of each measurement")
	flag.IntVar(&o.scatterRuns, "scatter", 100_000, "runs in the window of the scatter, one a second")
	flag.IntVar(&o.taskRuns, "tasks", 1000, "task runs and log lines of the run")
	flag.IntVar(&o.live, "live", 500, "open live pages")
	flag.BoolVar(&o.enforce, "enforce", false, "fail when a time exceeds its budget")
	flag.Parse()
	server, err := beside.StartOrchIn(o.dir, o.orch)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	b := &bench{options: o, server: server}
	if err := b.seed(); err != nil {
		return err
	}
	t := &table{out: tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0), enforce: o.enforce}
	for _, measure := range []func(context.Context, *table) error{b.pages, b.assets, b.idleLive, b.busyLive} {
		if err := measure(ctx, t); err != nil {
			return err
		}
	}
	return t.finish()
}

// table prints measurements beside their budgets.
type table struct {
	out     *tabwriter.Writer
	enforce bool
	missed  []error
}

// time adds a duration.
func (t *table) time(what string, got, budget time.Duration) {
	t.row(what, got.Round(100*time.Microsecond).String(), budget.String(), got > budget, t.enforce)
}

// number adds a figure that does not depend on the machine.
func (t *table) number(what string, got, budget float64, unit string) {
	t.row(what, fmt.Sprintf("%.1f %s", got, unit), fmt.Sprintf("%.1f %s", budget, unit), got > budget, true)
}

// cost adds a figure that depends on the machine.
func (t *table) cost(what string, got, budget float64, unit string) {
	t.row(what, fmt.Sprintf("%.2f %s", got, unit), fmt.Sprintf("%.2f %s", budget, unit), got > budget, t.enforce)
}

func (t *table) row(what, got, budget string, over, fails bool) {
	verdict := "ok"
	if over {
		verdict = "over"
		if fails {
			t.missed = append(t.missed, fmt.Errorf("%s: %s, budget %s", what, got, budget))
		}
	}
	_, _ = fmt.Fprintf(t.out, "%s\t%s\t%s\t%s\n", what, got, budget, verdict) // To a terminal.
}

func (t *table) finish() error {
	return errors.Join(t.out.Flush(), errors.Join(t.missed...))
}
