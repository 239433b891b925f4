// Command scale measures every filter, sort and count of flow runs in a large and a small store. It prints each
// slowdown and its bound, and exits with 1 when a query exceeds its bound or fails. Indexes keep the queries within
// their bounds; counts that must read every match have none.
//
//	make bench-scale BENCHFLAGS="-many 100000"
//	make bench-scale BENCHFLAGS="-dir /var/tmp/scale"    (keeps the stores, and does not fill them again the next time)
//
// The runs are written directly to the embedded store; the queries go through the API's service.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

func main() {
	few := flag.Int("few", 10_000, "flow runs of the small store")
	many := flag.Int("many", 1_000_000, "flow runs of the large store")
	bound := flag.Float64("bound", 10, "how many times slower a question may be with many")
	dir := flag.String("dir", "", "where the stores are kept, and found again; when empty they are temporary")
	fill := flag.String("fill", "", "fill a store in this directory with -many runs, and measure nothing")
	flag.Parse()
	var err error
	if *fill != "" {
		err = fillOnly(context.Background(), *fill, *many)
	} else {
		err = run(context.Background(), *dir, *few, *many, *bound)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// fillOnly fills the store of a server that does not run, for benchmarks of the whole server.
func fillOnly(ctx context.Context, dir string, n int) (err error) {
	w, err := open(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close(ctx)) }()
	return w.fill(ctx, n)
}

func run(ctx context.Context, dir string, few, many int, bound float64) (err error) {
	if dir == "" {
		dir, err = os.MkdirTemp("", "orch-scale-")
		if err != nil {
			return fmt.Errorf("create store directory: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	var answers [2][]answer
	for i, n := range []int{few, many} {
		if answers[i], err = measure(ctx, filepath.Join(dir, strconv.Itoa(n)), n); err != nil {
			return err
		}
	}
	return report(answers, few, many, bound)
}

// report prints the durations of every query in both stores, its slowdown and its bound. It returns an error if a query
// exceeds its bound or fails.
func report(answers [2][]answer, few, many int, bound float64) error {
	_, _ = fmt.Fprintf(os.Stdout, "%-58s %12d %12d %8s %8s\n", "median of "+strconv.Itoa(rounds), few, many, "ratio", "at most")
	var errs []error
	for i, q := range questions() {
		small, large := answers[0][i], answers[1][i]
		if err := errors.Join(small.err, large.err); err != nil {
			_, _ = fmt.Fprintf(os.Stdout, "%-58s no answer\n", q.name)
			errs = append(errs, fmt.Errorf("%s: %w", q.name, err))
			continue
		}
		ratio := float64(large.median) / float64(small.median)
		allowed := strconv.FormatFloat(bound, 'f', 0, 64)
		if q.grows {
			allowed = "-" // Grows with the number of runs.
		}
		_, _ = fmt.Fprintf(os.Stdout, "%-58s %9.2f ms %9.2f ms %8.1f %8s\n", q.name, ms(small.median), ms(large.median), ratio, allowed)
		if ratio > bound && !q.grows {
			errs = append(errs, fmt.Errorf("%s: %.1f times slower, more than %.0f", q.name, ratio, bound))
		}
	}
	return errors.Join(errs...)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// rounds is how often a query is measured; the median counts. Two warm-up queries precede it, because the first count
// of a kind creates a counter.
const rounds = 7

// answer is the duration of a query, or its error.
type answer struct {
	median time.Duration
	err    error
}

func measure(ctx context.Context, dir string, n int) (_ []answer, err error) {
	w, err := open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close(context.WithoutCancel(ctx))) }()
	began := time.Now()
	if err := w.fill(ctx, n); err != nil {
		return nil, err
	}
	_, _ = fmt.Fprintf(os.Stderr, "%d flow runs are stored after %s\n", n, time.Since(began).Round(time.Millisecond))
	list := questions()
	answers := make([]answer, len(list))
	for i, q := range list {
		answers[i].median, answers[i].err = w.median(ctx, q)
	}
	return answers, nil
}

func (w *world) median(ctx context.Context, q question) (time.Duration, error) {
	took := make([]time.Duration, 0, rounds)
	for k := range rounds + 2 {
		began := time.Now()
		if err := w.ask(ctx, q); err != nil {
			return 0, err
		}
		if k >= 2 {
			took = append(took, time.Since(began))
		}
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}
