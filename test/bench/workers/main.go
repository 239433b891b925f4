// Command workers measures how workers poll work pools: 100 workers of 10 pools with 50,000 scheduled runs. With -prefect,
// it does the same with the Python server, and compares the rates.
//
// It measures three things, because one load cannot show them all:
//
//   - Saturation: every worker polls again as soon as it has its runs (a closed loop). That gives the highest rate, and the
//     processor time of a poll. Its response time is the number of workers divided by the rate, so it says nothing new.
//   - Response time: the workers poll at a fixed interval (an open loop), whether or not earlier polls were slow. The times
//     count from the moment at which a poll was due.
//   - Handover: the time from the start of a run until a worker has it, by polls and through the worker channel.
//
// It prints the figures and exits with 1 when one misses its bound.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/orch-project/orch/test/bench/beside"
)

func main() { beside.Main("bench-workers", run) }

const (
	// stockInterval is the poll interval of a stock worker, denseInterval a tenth of it.
	stockInterval = 10 * time.Second
	denseInterval = time.Second
	// maxMedian and maxP99 bound the response time of polls at a fixed interval.
	maxMedian = 3 * time.Millisecond
	maxP99    = 20 * time.Millisecond
	// maxPushed bounds the time until the worker channel delivers a run.
	maxPushed = 100 * time.Millisecond
	// pollSlack is how long after a poll interval a polling worker has a run at the latest.
	pollSlack = 50 * time.Millisecond
)

func run(ctx context.Context) error {
	orch := flag.String("orch", "bin/orch", "the binary")
	prefect := flag.String("prefect", "", "the Python server's command line; empty leaves it out")
	l := load{}
	flag.IntVar(&l.pools, "pools", 10, "number of work pools")
	flag.IntVar(&l.runs, "runs", 50_000, "number of scheduled runs")
	flag.IntVar(&l.workers, "workers", 100, "number of polling workers")
	flag.DurationVar(&l.duration, "duration", 20*time.Second, "duration of the closed loop")
	flag.DurationVar(&l.paced, "paced", 30*time.Second, "duration of each open loop")
	interval := flag.Duration("interval", time.Second, "poll interval of the worker in the handover")
	ratio := flag.Float64("ratio", 25, "minimum ratio to the Python server's rate")
	flag.Parse()

	ours, err := beside.StartOrch(*orch)
	if err != nil {
		return err
	}
	m, err := l.measure(ctx, ours)
	if err != nil {
		return errors.Join(err, ours.Stop())
	}
	polled, pushed, err := handover(ctx, ours, *interval)
	if err = errors.Join(err, ours.Stop()); err != nil {
		return err
	}
	m.print("orch")
	fmt.Printf("orch: from start to worker: p99 %s with a poll interval of %s, p99 %s through the worker channel\n", polled, *interval, pushed)
	missed := m.missed()
	if bound := *interval + pollSlack; polled > bound {
		missed = append(missed, fmt.Errorf("a polling worker has a run after %s at p99, above %s", polled, bound))
	}
	if pushed > maxPushed {
		missed = append(missed, fmt.Errorf("the worker channel delivers a run after %s at p99, above %s", pushed, maxPushed))
	}
	if *prefect == "" {
		return errors.Join(missed...)
	}
	theirs, err := beside.StartReference(*prefect)
	if err != nil {
		return err
	}
	reference, err := l.measure(ctx, theirs)
	if err = errors.Join(err, theirs.Stop()); err != nil {
		return err
	}
	reference.print("Python server")
	if rate, base := m.saturated.rate(), reference.saturated.rate(); rate < *ratio*base {
		missed = append(missed, fmt.Errorf("the rate is %.1f times the Python server's, below %.0f", rate/base, *ratio))
	}
	return errors.Join(missed...)
}
