// Command bench measures the embedded server beside raw Pebble with the same keys and the same fsync, in one run.
//
//	go run ./embeddedmongo/bench [-docs 1000000] [-seconds 5] [-dir DIR]
//
// Absolute figures belong to the machine; what fails a run is a ratio.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	docs := flag.Int("docs", 1_000_000, "documents of the large collection")
	seconds := flag.Float64("seconds", 5, "duration of each write measurement")
	dir := flag.String("dir", "", "directory to work in; default is a temporary one")
	flag.Parse()
	if err := run(context.Background(), *docs, time.Duration(*seconds*float64(time.Second)), *dir); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// report prints lines and remembers what failed.
type report struct{ failed []string }

func (r *report) line(name, format string, args ...any) {
	_, _ = fmt.Fprintf(os.Stdout, "%-52s %s\n", name, fmt.Sprintf(format, args...))
}

// goal prints a figure with its goal.
func (r *report) goal(name string, got float64, ok bool, goal string) {
	verdict := "ok"
	if !ok {
		verdict = "MISSED"
		r.failed = append(r.failed, name)
	}
	r.line(name, "%10.2f   %-6s (goal %s)", got, verdict, goal)
}

func run(ctx context.Context, docs int, d time.Duration, dir string) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "orch-bench-store-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	r := &report{}
	for _, x := range []struct {
		name          string
		writers, each int
		least         float64
	}{
		{"8 writers", 8, 1, 0.8},
		{"64 writers", 64, 1, 0.5},
		{fmt.Sprintf("%d by a command", many), 1, many, 0.5},
	} {
		raw, err := rawInserts(dir, x.writers, x.each, d)
		if err != nil {
			return fmt.Errorf("raw inserts: %w", err)
		}
		own, err := storeInserts(ctx, dir, x.writers, x.each, d)
		if err != nil {
			return fmt.Errorf("store inserts: %w", err)
		}
		r.line("raw Pebble, durable inserts/s, "+x.name, "%10.0f", raw)
		r.line("embedded server, durable inserts/s, "+x.name, "%10.0f", own)
		r.goal("ratio, "+x.name, own/raw, own/raw >= x.least, fmt.Sprintf("at least %.1f", x.least))
	}
	small, err := reads(ctx, r, dir, 10_000)
	if err != nil {
		return fmt.Errorf("reads at 10,000 documents: %w", err)
	}
	large, err := reads(ctx, r, dir, docs)
	if err != nil {
		return fmt.Errorf("reads at %d documents: %w", docs, err)
	}
	r.goal("filter+sort, large / small", large.query/small.query, large.query <= 3*small.query, "at most 3")
	r.goal("skip 5,000, large, ms", large.skip, large.skip <= 5, "at most 5")
	r.goal("count by indexed equality, large / small", large.count/small.count, large.count <= 3*small.count, "at most 3")
	r.goal("reopen, large, s", large.reopen, large.reopen <= 0.5, "at most 0.5")
	r.goal("resident memory after it, MB", large.memory, large.memory <= 150, "at most 150")
	if len(r.failed) > 0 {
		return fmt.Errorf("goals missed: %q", r.failed)
	}
	return nil
}
