// Command events measures the ingestion of events and logs beside the Python server, on one machine in one run. It also
// measures when the last acknowledged one can be read. It exits with 1 when a ratio misses its floor, or when an event
// that Orch acknowledged cannot be read within 5 s. The Python server sometimes acknowledges and then loses events;
// these count as ingested, and the report prints their number.
//
//	make bench-events BENCHFLAGS="-round 10s"
//
// Events are measured twice: with time-ordered ids, as the Python client's, and with random ones.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/test/bench/beside"
)

// visibleWithin bounds the time from the last acknowledgement until everything is readable on Orch; waitTimeout bounds
// the wait for the Python server.
const (
	visibleWithin = 5 * time.Second
	waitTimeout   = 30 * time.Second
)

func main() { beside.Main("bench-events", run) }

func run(ctx context.Context) (err error) {
	orch := flag.String("orch", "bin/orch", "our binary")
	prefect := flag.String("prefect", ".venv/prefect/bin/prefect", "the Python server's program")
	conns := flag.Int("c", 8, "connections")
	round := flag.Duration("round", 4*time.Second, "the time of a round")
	rounds := flag.Int("rounds", 2, "rounds of each server in each row")
	flag.Parse()

	reference, err := beside.StartReference(*prefect)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reference.Stop()) }()
	ours, err := beside.StartOrch(*orch)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.Stop()) }()

	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "row\tserver\tacknowledged\tlost\tper second\treadable after\tpersisted per second\tratio\tfloor\t")
	var failures []error
	for _, row := range []ingestion{events("by time", byTime), events("random", uuid.New), logs} {
		results := map[*beside.Server]*taken{reference: {mayLose: true}, ours: {}}
		for range *rounds {
			for _, s := range []*beside.Server{reference, ours} { // In turns, so that noise affects both.
				if err := results[s].round(ctx, s, row, *conns, *round); err != nil {
					return fmt.Errorf("%s: %w", row.name, err)
				}
			}
		}
		ratio := results[ours].perSecond() / results[reference].perSecond()
		results[reference].print(out, row.name, reference.Name, "\t")
		results[ours].print(out, row.name, ours.Name, fmt.Sprintf("%.1f\t%.0f", ratio, row.floor))
		if ratio < row.floor {
			failures = append(failures, fmt.Errorf("%s: %.1f times the reference, and not %.0f", row.name, ratio, row.floor))
		}
		if late := results[ours].slowest; late > visibleWithin {
			failures = append(failures, fmt.Errorf("%s: readable %s after the last acknowledgement, and not within %s", row.name, late, visibleWithin))
		}
	}
	return errors.Join(append(failures, out.Flush())...)
}

// taken are the results of one server, over all rounds.
type taken struct {
	acknowledged int64
	// Lost is the number of acknowledged items that were unreadable within waitTimeout; without mayLose that is an
	// error.
	lost    int64
	mayLose bool
	// Sending is the time until the last acknowledgements, reading the time from then until all of it is readable.
	sending, reading time.Duration
	slowest          time.Duration
}

func (t *taken) perSecond() float64 { return float64(t.acknowledged) / t.sending.Seconds() }

// round sends for a while and then waits until everything acknowledged is readable.
func (t *taken) round(ctx context.Context, s *beside.Server, row ingestion, conns int, length time.Duration) error {
	op, readable := row.prepare(s)
	began := time.Now()
	requests, err := beside.Fill(ctx, s, conns, 1<<40, length, op)
	if err != nil {
		return err
	}
	acknowledged := int64(requests) * batch
	last := time.Now()
	for {
		n, err := readable(acknowledged)
		switch {
		case err != nil:
			return err
		case n >= acknowledged, t.mayLose && time.Since(last) > waitTimeout:
			t.acknowledged += acknowledged
			t.lost += max(0, acknowledged-n)
			t.sending += last.Sub(began)
			t.reading += time.Since(last)
			t.slowest = max(t.slowest, time.Since(last))
			return nil
		case time.Since(last) > waitTimeout:
			return fmt.Errorf("%s: only %d of %d acknowledged can be read after %s", s.Name, n, acknowledged, waitTimeout)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (t *taken) print(out *tabwriter.Writer, row, server, rest string) {
	fmt.Fprintf(out, "%s\t%s\t%d\t%d\t%.0f\t%s\t%.0f\t%s\t\n", row, server, t.acknowledged, t.lost, t.perSecond(),
		t.slowest.Round(time.Millisecond), float64(t.acknowledged-t.lost)/(t.sending+t.reading).Seconds(), rest)
}
