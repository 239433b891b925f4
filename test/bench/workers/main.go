// Command workers measures how workers poll work pools: 100 workers of 10 pools with 50,000 scheduled runs. With -prefect,
// it does the same with the Python server, and compares the rates. It also measures the time from the start of runs until a
// worker has them, by polls and through the worker channel.
//
// It prints the figures and exits with 1 when one falls short of its bound.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/orch-project/orch/test/bench/beside"
)

func main() { beside.Main("bench-workers", run) }

// load configures the measurement.
type load struct {
	pools, runs, workers int
	duration             time.Duration
}

func run(ctx context.Context) error {
	orch := flag.String("orch", "bin/orch", "the binary")
	prefect := flag.String("prefect", "", "the Python server's command line; empty leaves it out")
	l := load{}
	flag.IntVar(&l.pools, "pools", 10, "how many work pools there are")
	flag.IntVar(&l.runs, "runs", 50_000, "how many scheduled runs there are")
	flag.IntVar(&l.workers, "workers", 100, "how many workers poll")
	flag.DurationVar(&l.duration, "duration", 20*time.Second, "for how long they poll")
	interval := flag.Duration("interval", time.Second, "the poll interval of the worker that runs are handed to")
	ratio := flag.Float64("ratio", 25, "the least ratio to the Python server's rate")
	flag.Parse()

	ours, err := beside.StartOrch(*orch)
	if err != nil {
		return err
	}
	rate, p50, p99, err := l.measure(ctx, ours)
	if err != nil {
		return errors.Join(err, ours.Stop())
	}
	polled, pushed, err := handover(ctx, ours, *interval)
	if err = errors.Join(err, ours.Stop()); err != nil {
		return err
	}
	fmt.Printf("orch: %.0f polls/s, p50 %s, p99 %s\n", rate, p50, p99)
	fmt.Printf("orch: from start to worker: p99 %s with a poll interval of %s, p99 %s through the worker channel\n", polled, *interval, pushed)
	var short []error
	if p50 > 3*time.Millisecond {
		short = append(short, fmt.Errorf("poll p50 is %s, above 3 ms", p50))
	}
	if p99 > 20*time.Millisecond {
		short = append(short, fmt.Errorf("poll p99 is %s, above 20 ms", p99))
	}
	if bound := *interval + 50*time.Millisecond; polled > bound {
		short = append(short, fmt.Errorf("a polling worker has a run after %s at p99, above %s", polled, bound))
	}
	if pushed > 100*time.Millisecond {
		short = append(short, fmt.Errorf("the worker channel delivers a run after %s at p99, above 100 ms", pushed))
	}
	if *prefect == "" {
		return errors.Join(short...)
	}
	theirs, err := beside.StartReference(*prefect)
	if err != nil {
		return err
	}
	reference, q50, q99, err := l.measure(ctx, theirs)
	if err = errors.Join(err, theirs.Stop()); err != nil {
		return err
	}
	fmt.Printf("Python server: %.0f polls/s, p50 %s, p99 %s\n", reference, q50, q99)
	if rate < *ratio*reference {
		short = append(short, fmt.Errorf("the rate is %.1f times the Python server's, below %.0f", rate/reference, *ratio))
	}
	return errors.Join(short...)
}

// client calls one server's API.
type client struct {
	http *http.Client
	api  string
}

// newClient returns a client with as many idle connections at most, and what closes them.
func newClient(s *beside.Server, conns int) (*client, func()) {
	transport := &http.Transport{MaxIdleConnsPerHost: conns}
	return &client{&http.Client{Transport: transport}, "http://" + s.Address + "/api"}, transport.CloseIdleConnections
}

func (c *client) post(ctx context.Context, path string, body, out any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.api+path, bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("create request: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(r)
	if err != nil {
		return fmt.Errorf("post %s: %w", path, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read response of %s: %w", path, err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("post %s: status %d: %.200s", path, response.StatusCode, text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

type identified struct {
	ID string `json:"id"`
}

// bulk is the largest number of runs that one call creates.
const bulk = 100

// prepare creates pools, deployments and runs; runs are due one after the other, the first ones now.
func (l load) prepare(ctx context.Context, c *client) error {
	var flow identified
	if err := c.post(ctx, "/flows/", map[string]any{"name": "bench"}, &flow); err != nil {
		return err
	}
	now := time.Now().UTC()
	for p := range l.pools {
		pool := fmt.Sprintf("pool-%d", p)
		if err := c.post(ctx, "/work_pools/", map[string]any{"name": pool, "type": "process"}, nil); err != nil {
			return err
		}
		var deployment identified
		err := c.post(ctx, "/deployments/", map[string]any{"name": pool, "flow_id": flow.ID, "work_pool_name": pool}, &deployment)
		if err != nil {
			return err
		}
		for first := 0; first < l.runs/l.pools; first += bulk {
			runs := make([]map[string]any, min(bulk, l.runs/l.pools-first))
			for i := range runs {
				due := now.Add(time.Duration(first+i) * time.Second)
				runs[i] = map[string]any{"state": map[string]any{"type": "SCHEDULED", "state_details": map[string]any{"scheduled_time": due}}}
			}
			if err := c.post(ctx, "/deployments/"+deployment.ID+"/create_flow_run/bulk", runs, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// measure polls and returns the rate and two percentiles of the time of a poll.
func (l load) measure(ctx context.Context, s *beside.Server) (rate float64, p50, p99 time.Duration, err error) {
	c, closeIdle := newClient(s, l.workers)
	defer closeIdle()
	if err := l.prepare(ctx, c); err != nil {
		return 0, 0, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.duration)
	defer cancel()
	var mu sync.Mutex
	var took []time.Duration
	var failures []error
	var polling sync.WaitGroup
	for w := range l.workers {
		path := fmt.Sprintf("/work_pools/pool-%d/get_scheduled_flow_runs", w%l.pools)
		polling.Go(func() {
			var own []time.Duration
			var failure error
			for ctx.Err() == nil && failure == nil {
				began := time.Now()
				body := map[string]any{"scheduled_before": began.UTC().Add(10 * time.Second), "limit": 20}
				if failure = c.post(ctx, path, body, nil); failure == nil {
					own = append(own, time.Since(began))
				}
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, own...)
			if ctx.Err() == nil {
				failures = append(failures, failure)
			}
		})
	}
	polling.Wait()
	if err := errors.Join(failures...); err != nil || len(took) == 0 {
		return 0, 0, 0, errors.Join(errors.New("measure polls: no poll succeeded, or one failed"), err)
	}
	slices.Sort(took)
	return float64(len(took)) / l.duration.Seconds(), took[len(took)/2], took[len(took)*99/100], nil
}
