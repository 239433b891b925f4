package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/orch-project/orch/test/bench/beside"
)

const (
	// settleFor is how long a server's memory must stay the same before it counts, and settleWithin the longest wait: its
	// runtime returns slowly what a burst left.
	settleFor    = 15 * time.Second
	settleWithin = 3 * time.Minute
)

// settled returns the resident memory of a server that rests, in bytes.
func settled(server *beside.Server) int64 {
	end := time.Now().Add(settleWithin)
	for _, before := server.Taken(); ; {
		time.Sleep(settleFor)
		_, now := server.Taken()
		if before-now < before/100 || time.Now().After(end) {
			return now
		}
		before = now
	}
}

// measureBuckets measures the memory of our server for open buckets of a proactive trigger with for_each.
func (s settings) measureBuckets(ctx context.Context) (err error) {
	if s.buckets == 0 {
		return nil
	}
	ours, err := beside.StartOrch(s.orch, "ORCH_AUTOMATIONS_KEYS=0")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.Stop()) }()
	c := ours.Conn()
	defer c.Close()
	if err := call(c, "/automations/", object{
		"name": "buckets", "actions": []any{object{"type": "do-nothing"}}, "trigger": object{
			"type": "event", "posture": "Proactive", "after": []string{"open"}, "expect": []string{"close"},
			"for_each": []string{"prefect.resource.id"}, "within": 86400,
		},
	}, nil); err != nil {
		return err
	}
	end := reactive("end", "end", 1)
	end["trigger"].(object)["within"] = 0 // It fires once per round.
	if err := call(c, "/automations/", end, nil); err != nil {
		return err
	}
	// As many events without a bucket first, so that only the buckets differ.
	var memory [2]int64
	for i, name := range []string{"other", "open"} {
		var next atomic.Int64
		if _, err := beside.Fill(ctx, ours, s.conns, max(1, s.buckets/batchEvents), 0, func(c *beside.Conn, _ int) error {
			batch := make([]object, batchEvents)
			for k := range batch {
				batch[k] = event(name, fmt.Sprintf("bench.%d", next.Add(1)))
			}
			return call(c, "/events", batch, nil)
		}); err != nil {
			return err
		}
		last := event("end", "bench.end")
		if err := call(c, "/events", []any{last}, nil); err != nil {
			return err
		}
		if _, err := awaitFiring(ctx, c, last["id"].(string)); err != nil {
			return err
		}
		memory[i] = settled(ours)
	}
	above := memory[1] - memory[0]
	fmt.Fprintf(os.Stdout, "memory with %d open buckets: %d MB above %d MB\n", s.buckets, above>>20, memory[0]>>20)
	if above > maxBucketMemory {
		return fmt.Errorf("open buckets: %d MB above idle, more than %d MB", above>>20, maxBucketMemory>>20)
	}
	return nil
}

// measureIngestion measures the ingestion of events by our server without automations and with many that take none, in turns.
func (s settings) measureIngestion(ctx context.Context) (err error) {
	if s.idle == 0 {
		return nil
	}
	without, err := beside.StartOrch(s.orch)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, without.Stop()) }()
	with, err := beside.StartOrch(s.orch)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, with.Stop()) }()
	without.Name, with.Name = "without automations", "with automations"
	if err := counting(ctx, with, s.conns, 0, s.idle); err != nil {
		return err
	}
	row := beside.Row{Name: "events", Unit: "events", Per: batchEvents, Prepare: func(context.Context, *beside.Server) (beside.Op, error) {
		return func(c *beside.Conn, _ int) error {
			batch := make([]object, batchEvents)
			for i := range batch {
				batch[i] = event("other.event", "bench.other")
			}
			return call(c, "/events", batch, nil)
		}, nil
	}}
	load := beside.Load{Conns: s.conns, Warm: time.Second, Round: s.round, Rounds: max(3, s.rounds)}
	outcomes, err := beside.Compare(ctx, []beside.Row{row}, without, with, load, os.Stderr)
	if err != nil {
		return err
	}
	o := &outcomes[0]
	fmt.Fprintf(os.Stdout, "ingestion: %.0f events/s without automations, %.0f with %d that take none: %.2f\n",
		o.Reference.PerSecond()*batchEvents, o.Ours.PerSecond()*batchEvents, s.idle, o.Ratio())
	if o.Ratio() < minIngestion {
		return fmt.Errorf("ingestion with %d automations: %.2f of the rate without, less than %.2f", s.idle, o.Ratio(), minIngestion)
	}
	return nil
}
