// Command scale measures every filter and sort of flow runs, and their counts, with many runs stored beside the same with
// few. It exits with 1 when one of them grows by more than its bound: the indexes are there so that it does not.
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
	var times [2][]time.Duration
	for i, n := range []int{few, many} {
		if times[i], err = measure(ctx, filepath.Join(dir, strconv.Itoa(n)), n); err != nil {
			return err
		}
	}
	_, _ = fmt.Fprintf(os.Stdout, "%-58s %12s %12s %8s\n", "median of "+strconv.Itoa(repeats), strconv.Itoa(few), strconv.Itoa(many), "ratio")
	var errs []error
	for i, q := range questions() {
		ratio := float64(times[1][i]) / float64(times[0][i])
		_, _ = fmt.Fprintf(os.Stdout, "%-58s %9.2f ms %9.2f ms %8.1f\n", q.name, ms(times[0][i]), ms(times[1][i]), ratio)
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

func measure(ctx context.Context, dir string, n int) (_ []time.Duration, err error) {
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
	times := make([]time.Duration, len(list))
	for i, q := range list {
		took := make([]time.Duration, 0, repeats)
		for k := range repeats + 2 {
			began := time.Now()
			if err := w.ask(ctx, q); err != nil {
				return nil, fmt.Errorf("%s, of %d: %w", q.name, n, err)
			}
			if k >= 2 {
				took = append(took, time.Since(began))
			}
		}
		slices.Sort(took)
		times[i] = took[len(took)/2]
	}
	return times, nil
}
