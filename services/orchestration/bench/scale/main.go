// Command scale measures every filter and sort of flow runs, and their counts, with many runs stored beside the same with
// few. It says by how much each may grow, and exits with 1 when one grows by more or gets no answer: the indexes are there
// so that it does not. Counts that must look at every match have no bound.
//
//	make bench-scale BENCHFLAGS="-many 100000"
//	make bench-scale BENCHFLAGS="-dir /var/tmp/scale"    (keeps the stores, and does not fill them again the next time)
//
// The runs are written straight into the embedded store; the questions go through the service that answers the API.
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
	flag.Parse()
	if err := run(context.Background(), *dir, *few, *many, *bound); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string, few, many int, bound float64) (err error) {
	if dir == "" {
		dir, err = os.MkdirTemp("", "orch-scale-")
		if err != nil {
			return fmt.Errorf("make a directory for the stores: %w", err)
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

// report prints what every question took in both stores, by how much it grew and by how much it may, and is an error when
// one grew by more or got no answer.
func report(answers [2][]answer, few, many int, bound float64) error {
	_, _ = fmt.Fprintf(os.Stdout, "%-58s %12d %12d %8s %8s\n", "median of "+strconv.Itoa(repeats), few, many, "ratio", "at most")
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
			allowed = "-" // With the number of runs.
		}
		_, _ = fmt.Fprintf(os.Stdout, "%-58s %9.2f ms %9.2f ms %8.1f %8s\n", q.name, ms(small.median), ms(large.median), ratio, allowed)
		if ratio > bound && !q.grows {
			errs = append(errs, fmt.Errorf("%s: %.1f times slower, more than %.0f", q.name, ratio, bound))
		}
	}
	return errors.Join(errs...)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// repeats is how often a question is asked; the median counts. It is asked twice before, because the first count of a kind
// starts a counter.
const repeats = 7

// answer is how long a question took, or why it has no answer.
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
	took := make([]time.Duration, 0, repeats)
	for k := range repeats + 2 {
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
