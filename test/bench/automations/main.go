// Command automations measures the evaluation of automations beside the Python server, on one machine in one run:
//
//   - events evaluated in a second with 1, 100 and 10,000 automations
//   - the delay from an event to its firing
//   - the memory of our server for 100,000 open buckets
//   - how much 10,000 automations that take no event slow the ingestion of events down
//
// It exits with 1 when a figure misses its bound.
//
//	make bench-automations BENCHFLAGS="-automations 1,100 -events 2000 -buckets 5000 -idle 500"
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/orch-project/orch/test/bench/beside"
)

// The bounds of the measurement.
const (
	// floor is the least ratio of evaluated events with floorAt automations.
	floor   = 20
	floorAt = 100
	// maxBucketMemory is the most memory that the open buckets may take above idle, in bytes.
	maxBucketMemory = 100 << 20
	// minIngestion is the least rate of ingestion with automations, as a share of the rate without.
	minIngestion = 0.9
)

func main() { beside.Main("bench-automations", run) }

// settings are the sizes of the measurement.
type settings struct {
	orch, prefect                        string
	automations                          []int
	events, delays, buckets, idle, conns int
	round                                time.Duration
	rounds                               int
	reference                            bool
}

func parse() (settings, error) {
	var s settings
	flag.StringVar(&s.orch, "orch", "bin/orch", "our binary")
	flag.StringVar(&s.prefect, "prefect", ".venv/prefect/bin/prefect", "the Python server's program")
	counts := flag.String("automations", "1,100,10000", "the numbers of automations, each with a row of its own")
	flag.IntVar(&s.events, "events", 20_000, "the events of a round on our server; the Python server gets a tenth")
	flag.IntVar(&s.delays, "delays", 200, "the firings whose delay is measured on our server; the Python server gets a tenth")
	flag.IntVar(&s.buckets, "buckets", 100_000, "the open buckets whose memory is measured; 0 leaves it out")
	flag.IntVar(&s.idle, "idle", 10_000, "the automations that take no event during ingestion; 0 leaves it out")
	flag.IntVar(&s.conns, "c", 8, "connections")
	flag.DurationVar(&s.round, "round", 4*time.Second, "the time of a round of ingestion")
	flag.IntVar(&s.rounds, "rounds", 2, "the rounds of each server in each row")
	flag.BoolVar(&s.reference, "reference", true, "measure the Python server too")
	flag.Parse()
	for text := range strings.SplitSeq(*counts, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return s, fmt.Errorf("read -automations: %q is not a positive number", text)
		}
		s.automations = append(s.automations, n)
	}
	return s, nil
}

func run(ctx context.Context) error {
	s, err := parse()
	if err != nil {
		return err
	}
	return errors.Join(s.measureEvaluation(ctx), s.measureBuckets(ctx), s.measureIngestion(ctx))
}

// measureEvaluation measures the rate of evaluation and the delay of firings, on both servers in turns.
func (s settings) measureEvaluation(ctx context.Context) (err error) {
	ours, err := beside.StartOrch(s.orch, "ORCH_AUTOMATIONS_FIRINGS_PER_MINUTE=0")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.Stop()) }()
	servers := []*beside.Server{ours}
	if s.reference {
		reference, err := beside.StartReference(s.prefect)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, reference.Stop()) }()
		servers = append(servers, reference)
	}
	var failures []error
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "automations\tserver\tevents/s\tratio\tfiring p50\tp99\t")
	created := map[*beside.Server]int{}
	for _, n := range s.automations {
		rates := map[*beside.Server]*rate{}
		for _, server := range servers {
			rates[server] = &rate{}
			if err := counting(ctx, server, s.conns, created[server], n); err != nil {
				return err
			}
			created[server] = n
		}
		for round := range s.rounds {
			for _, server := range servers {
				events := s.events
				if server != ours {
					events = max(100, s.events/10)
				}
				if err := rates[server].round(ctx, server, fmt.Sprintf("end.%d.%d", n, round), events, n, s.conns); err != nil {
					return err
				}
			}
		}
		for _, server := range servers {
			firings := s.delays
			if server != ours {
				firings = max(10, s.delays/10) // Each waits about a second.
			}
			delays, err := firingDelays(ctx, server, fmt.Sprintf("delay.%d", n), firings)
			if err != nil {
				return err
			}
			ratio := "-"
			if server == ours && s.reference {
				times := rates[ours].perSecond() / rates[servers[1]].perSecond()
				ratio = fmt.Sprintf("%.1f", times)
				if n == floorAt && times < floor {
					failures = append(failures, fmt.Errorf("%d automations: %.1f times the reference, less than %d", n, times, floor))
				}
			}
			fmt.Fprintf(out, "%d\t%s\t%.0f\t%s\t%s\t%s\t\n", n, server.Name, rates[server].perSecond(), ratio, quantile(delays, .5), quantile(delays, .99))
		}
	}
	return errors.Join(append(failures, out.Flush())...)
}
