package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/orch-project/orch/test/bench/beside"
)

// clients work on a server.
type clients struct {
	server *beside.Server
	n      int
	flow   string
}

// phase is what clients did in a time, and the server's processor time in it.
type phase struct {
	latencies    []time.Duration
	elapsed, cpu time.Duration
}

// figures summarise phases.
type figures struct {
	requests     int
	elapsed, cpu time.Duration
	p50, p99     time.Duration
}

// rate returns the requests per second.
func (f figures) rate() float64 { return float64(f.requests) / f.elapsed.Seconds() }

// cpuPerRequest returns the server's processor time for a request. It includes what the server does for nobody.
func (f figures) cpuPerRequest() time.Duration { return f.cpu / time.Duration(max(f.requests, 1)) }

func (f figures) String() string {
	return fmt.Sprintf("%d requests in %s, %.0f/s, p50 %s, p99 %s, %s of processor time each", f.requests, f.elapsed.Round(time.Second),
		f.rate(), f.p50.Round(10*time.Microsecond), f.p99.Round(10*time.Microsecond), f.cpuPerRequest().Round(time.Microsecond))
}

func newClients(server *beside.Server, n int) (*clients, error) {
	c := server.Conn()
	defer c.Close()
	answer, err := c.Call(http.MethodPost, "/flows/", []byte(`{"name":"bench-retention"}`))
	if err != nil {
		return nil, err
	}
	flow, err := idOf(answer)
	return &clients{server: server, n: n, flow: flow}, err
}

func idOf(answer beside.Answer) (string, error) {
	text, err := answer.Text()
	if err != nil {
		return "", err
	}
	var created struct{ ID string }
	if err := json.Unmarshal(text, &created); err != nil {
		return "", fmt.Errorf("decode id: %w", err)
	}
	return created.ID, nil
}

const (
	// pollEvery is the interval of the questions whether the work is over.
	pollEvery = 500 * time.Millisecond
	// reportEvery is the interval of the figures of a long run.
	reportEvery = 30 * time.Second
)

// latencies are those of all clients. It is safe for concurrent use.
type latencies struct {
	mu       sync.Mutex
	server   *beside.Server
	all      []time.Duration
	reported int // How many of them were in a report.
	began    time.Time
	last     time.Time     // Of the reports.
	cpu      time.Duration // Of the server at the last report.
}

func (l *latencies) add(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, took)
}

// report prints the figures since the last report, when it is due.
func (l *latencies) report() {
	l.mu.Lock()
	defer l.mu.Unlock()
	elapsed := time.Since(l.last)
	if elapsed < reportEvery {
		return
	}
	cpu, _ := l.server.Taken()
	fmt.Printf("  %s: %s\n", time.Since(l.began).Round(time.Second), figuresOf(phase{l.all[l.reported:], elapsed, cpu - l.cpu}))
	l.reported, l.last, l.cpu = len(l.all), time.Now(), cpu
}

// figuresOf returns the figures of phases together.
func figuresOf(phases ...phase) (f figures) {
	var all []time.Duration
	for _, one := range phases {
		all = append(all, one.latencies...)
		f.elapsed += one.elapsed
		f.cpu += one.cpu
	}
	f.requests = len(all)
	if len(all) > 0 {
		slices.Sort(all)
		at := func(q float64) time.Duration { return all[int(float64(len(all)-1)*q)] }
		f.p50, f.p99 = at(.5), at(.99)
	}
	return f
}

// work lets all clients work until the condition holds.
func (c *clients) work(ctx context.Context, over func() (bool, error)) (phase, error) {
	began := time.Now()
	cpu, _ := c.server.Taken()
	took := latencies{server: c.server, began: began, last: began, cpu: cpu}
	errs := make([]error, c.n)
	working, stop := context.WithCancel(ctx)
	defer stop()
	var workers sync.WaitGroup
	for i := range errs {
		workers.Go(func() {
			defer stop() // The first error ends all.
			conn := c.server.Conn()
			defer conn.Close()
			for errs[i] == nil && working.Err() == nil {
				errs[i] = c.cycle(conn, &took)
			}
		})
	}
	failed := wait(working, over, took.report)
	stop()
	workers.Wait()
	if err := errors.Join(append(errs, failed, ctx.Err())...); err != nil {
		return phase{}, fmt.Errorf("after %s: %w", time.Since(began).Round(time.Second), err)
	}
	elapsed := time.Since(began)
	now, _ := c.server.Taken()
	return phase{took.all, elapsed, now - cpu}, nil
}

// wait returns when the condition holds, after an error, or when ctx ends. It calls poll now and then.
func wait(ctx context.Context, over func() (bool, error), poll func()) error {
	for {
		select {
		case <-time.After(pollEvery):
			if finished, err := over(); finished || err != nil {
				return err
			}
			poll()
		case <-ctx.Done():
			return nil
		}
	}
}

// cycle creates a run, changes its state, and reads it and a page.
func (c *clients) cycle(conn *beside.Conn, took *latencies) error {
	call := func(method, path, body string) (beside.Answer, error) {
		began := time.Now()
		answer, err := conn.Call(method, path, []byte(body))
		took.add(time.Since(began))
		return answer, err
	}
	answer, err := call(http.MethodPost, "/flow_runs/", `{"flow_id":"`+c.flow+`","state":{"type":"PENDING","name":"Pending"}}`)
	if err != nil {
		return err
	}
	id, err := idOf(answer)
	if err != nil {
		return err
	}
	for _, state := range []string{`{"type":"RUNNING","name":"Running"}`, `{"type":"COMPLETED","name":"Completed"}`} {
		if _, err := call(http.MethodPost, "/flow_runs/"+id+"/set_state", `{"state":`+state+`}`); err != nil {
			return err
		}
	}
	if _, err := call(http.MethodGet, "/flow_runs/"+id, ""); err != nil {
		return err
	}
	_, err = call(http.MethodPost, "/flow_runs/filter", `{"limit":20,"sort":"START_TIME_DESC"}`)
	return err
}

// retain sets the policy that deletes ended runs older than an age.
func (c *clients) retain(age time.Duration) error {
	conn := c.server.Conn()
	defer conn.Close()
	body := fmt.Sprintf(`{"rules":[{"kind":"flow_runs","max_age":%d}]}`, int64(age.Seconds()))
	_, err := conn.Call(http.MethodPut, "/admin/retention", []byte(body))
	return err
}

// deleted reports whether no run is left that ended before a time.
func (c *clients) deleted(cutoff time.Time) (bool, error) {
	conn := c.server.Conn()
	defer conn.Close()
	body := `{"limit":1,"sort":"END_TIME_DESC","flow_runs":{"end_time":{"before_":"` + cutoff.Add(-time.Second).Format(time.RFC3339) + `"}}}`
	answer, err := conn.Call(http.MethodPost, "/flow_runs/filter", []byte(body))
	if err != nil {
		return false, err
	}
	text, err := answer.Text()
	return err == nil && bytes.Equal(bytes.TrimSpace(text), []byte("[]")), err
}
