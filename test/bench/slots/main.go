// Command slots measures how the slots of concurrency limits are handed over: 64 clients wait for the slots of a limit that others hold.
// It does so for a global limit, for the limit of a tag by its current and its older API, and for the limit of a deployment.
//
// Each client obeys Retry-After as stock clients do; a flow run, which has none, is proposed again in an interval. The order of waiting is
// that of the first refusals. Handover is the time from the first request that the client which waits longest starts after a release until
// it has the slot.
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

func main() { beside.Main("bench-slots", run) }

const (
	// maxHandover bounds the handover at p99, minTau the rank correlation of the orders of waiting and of service.
	maxHandover = 100 * time.Millisecond
	minTau      = 0.95
)

func run(ctx context.Context) error {
	orch := flag.String("orch", "bin/orch", "the binary")
	w := work{}
	flag.IntVar(&w.waiters, "waiters", 64, "number of clients that wait")
	flag.IntVar(&w.slots, "slots", 4, "number of slots")
	flag.DurationVar(&w.held, "held", 200*time.Millisecond, "time for which a client holds a slot")
	flag.Parse()
	server, err := beside.StartOrch(*orch)
	if err != nil {
		return err
	}
	w.server = server
	var missed []error
	for _, k := range kinds {
		figures, err := w.measure(ctx, k)
		if err != nil {
			return errors.Join(fmt.Errorf("measure %s: %w", k.name, err), server.Stop())
		}
		p99, tau := figures.handover(0.99), figures.tau()
		fmt.Printf("%s: %d clients for %d slots: handover p50 %s, p99 %s; tau %.3f; %.1f s of %.1f s that the slots need\n", k.name, w.waiters, w.slots,
			figures.handover(0.5), p99, tau, figures.elapsed.Seconds(), (w.held * time.Duration(w.waiters) / time.Duration(w.slots)).Seconds())
		if p99 > maxHandover {
			missed = append(missed, fmt.Errorf("%s: the handover takes %s at p99, above %s", k.name, p99, maxHandover))
		}
		if tau < minTau {
			missed = append(missed, fmt.Errorf("%s: tau is %.3f, below %.2f", k.name, tau, minTau))
		}
	}
	return errors.Join(errors.Join(missed...), server.Stop())
}
