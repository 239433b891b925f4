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

// figures are the latencies of the requests of clients.
type figures struct {
	requests int
	elapsed  time.Duration
	p50, p99 time.Duration
}

func (f figures) String() string {
	return fmt.Sprintf("%d requests, %.0f/s, p50 %s, p99 %s", f.requests, float64(f.requests)/f.elapsed.Seconds(),
		f.p50.Round(10*time.Microsecond), f.p99.Round(10*time.Microsecond))
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
	all      []time.Duration
	reported int // How many of them were in a report.
	began    time.Time
	last     time.Time // Of the reports.
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
	fmt.Printf("  %s: %s\n", time.Since(l.began).Round(time.Second), figuresOf(slices.Clone(l.all[l.reported:]), elapsed))
	l.reported, l.last = len(l.all), time.Now()
}

// figuresOf returns the figures of latencies, and sorts them.
func figuresOf(all []time.Duration, elapsed time.Duration) figures {
	f := figures{requests: len(all), elapsed: elapsed}
	if len(all) > 0 {
		slices.Sort(all)
		at := func(q float64) time.Duration { return all[int(float64(len(all)-1)*q)] }
		f.p50, f.p99 = at(.5), at(.99)
	}
	return f
}

// work lets all clients work until the condition holds.
func (c *clients) work(ctx context.Context, over func() (bool, error)) (figures, error) {
	began := time.Now()
	took := latencies{began: began, last: began}
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
		return figures{}, fmt.Errorf("after %s: %w", time.Since(began).Round(time.Second), err)
	}
	return figuresOf(took.all, time.Since(began)), nil
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
