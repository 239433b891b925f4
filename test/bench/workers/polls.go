package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/orch-project/orch/test/bench/beside"
)

const (
	// prefetch is how far ahead of their start a stock worker polls for runs.
	prefetch = 10 * time.Second
	// pollLimit is the number of runs that a poll returns at most.
	pollLimit = 20
)

// load configures the measurement.
type load struct {
	pools, runs, workers int
	duration, paced      time.Duration
}

// measurement is what one server does.
type measurement struct {
	saturated figures
	paced     []figures
}

// figures are the results of one load.
type figures struct {
	workers  int
	interval time.Duration // 0 is a closed loop.
	elapsed  time.Duration
	cpu      time.Duration // Of the server.
	took     []time.Duration
}

func (f figures) rate() float64 { return float64(len(f.took)) / f.elapsed.Seconds() }

func (f figures) quantile(q float64) time.Duration {
	slices.Sort(f.took)
	return f.took[int(float64(len(f.took)-1)*q)]
}

func (f figures) cpuPerPoll() time.Duration { return f.cpu / time.Duration(len(f.took)) }

func (m measurement) print(server string) {
	for _, f := range append([]figures{m.saturated}, m.paced...) {
		loop := "without a pause"
		if f.interval > 0 {
			loop = "every " + f.interval.String()
		}
		fmt.Printf("%s: %d workers %s: %.0f polls/s, p50 %s, p99 %s, %s of processor time a poll\n", server, f.workers, loop,
			f.rate(), f.quantile(0.5), f.quantile(0.99), f.cpuPerPoll())
	}
}

// missed returns the bounds that the open loops miss.
func (m measurement) missed() []error {
	var missed []error
	for _, f := range m.paced {
		if p50 := f.quantile(0.5); p50 > maxMedian {
			missed = append(missed, fmt.Errorf("the p50 of polls every %s is %s, above %s", f.interval, p50, maxMedian))
		}
		if p99 := f.quantile(0.99); p99 > maxP99 {
			missed = append(missed, fmt.Errorf("the p99 of polls every %s is %s, above %s", f.interval, p99, maxP99))
		}
	}
	return missed
}

// measure prepares a server and polls it in all loops.
func (l load) measure(ctx context.Context, s *beside.Server) (m measurement, err error) {
	c, closeIdle := newClient(s, 1)
	defer closeIdle()
	if err := l.prepare(ctx, c); err != nil {
		return m, err
	}
	for _, interval := range []time.Duration{stockInterval, denseInterval} {
		f, err := l.poll(ctx, s, interval, l.paced)
		if err != nil {
			return m, err
		}
		m.paced = append(m.paced, f)
	}
	m.saturated, err = l.poll(ctx, s, 0, l.duration)
	return m, err
}

// poll has all workers poll their pools for a while: at an interval, at times that are spread over it, or without a pause.
func (l load) poll(ctx context.Context, s *beside.Server, interval, duration time.Duration) (figures, error) {
	f := figures{workers: l.workers, interval: interval}
	var mu sync.Mutex
	var failures []error
	var polling sync.WaitGroup
	before, _ := s.Taken()
	began := time.Now()
	end := began.Add(duration)
	for w := range l.workers {
		polling.Go(func() {
			took, err := l.worker(ctx, s, w, began, end, interval)
			mu.Lock()
			defer mu.Unlock()
			f.took = append(f.took, took...)
			failures = append(failures, err)
		})
	}
	polling.Wait()
	f.elapsed = time.Since(began)
	after, _ := s.Taken()
	f.cpu = after - before
	if err := errors.Join(failures...); err != nil {
		return f, err
	}
	if len(f.took) == 0 {
		return f, errors.New("measure polls: the duration is shorter than the interval")
	}
	return f, nil
}

// worker polls one pool on a connection of its own, and returns how long each poll took from the time at which it was due.
func (l load) worker(ctx context.Context, s *beside.Server, number int, began, end time.Time, interval time.Duration) ([]time.Duration, error) {
	conn := s.Conn()
	defer conn.Close()
	path := fmt.Sprintf("/work_pools/pool-%d/get_scheduled_flow_runs", number%l.pools)
	due := began.Add(interval * time.Duration(number) / time.Duration(l.workers))
	var took []time.Duration
	for due.Before(end) {
		select {
		case <-time.After(time.Until(due)):
		case <-ctx.Done():
			return took, fmt.Errorf("poll due runs: %w", ctx.Err())
		}
		body := fmt.Appendf(nil, `{"scheduled_before":%q,"limit":%d}`, time.Now().UTC().Add(prefetch).Format(time.RFC3339Nano), pollLimit)
		if _, err := conn.Call(http.MethodPost, path, body); err != nil {
			return took, err
		}
		took = append(took, time.Since(due))
		if due = due.Add(interval); interval == 0 {
			due = time.Now()
		}
	}
	return took, nil
}
