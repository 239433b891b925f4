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
	"sync/atomic"
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

// pollEvery is the interval of the questions whether the work is over.
const pollEvery = 500 * time.Millisecond

// work lets all clients work until the condition holds.
func (c *clients) work(ctx context.Context, over func() (bool, error)) (figures, error) {
	var stopped atomic.Bool
	var mu sync.Mutex
	var all []time.Duration
	var errs []error
	var workers sync.WaitGroup
	began := time.Now()
	for range c.n {
		workers.Go(func() {
			conn := c.server.Conn()
			defer conn.Close()
			var mine []time.Duration
			var err error
			for err == nil && !stopped.Load() {
				err = c.cycle(conn, &mine)
			}
			mu.Lock()
			defer mu.Unlock()
			all, errs = append(all, mine...), append(errs, err)
		})
	}
	var failed error
	for finished := false; !finished && failed == nil; {
		select {
		case <-time.After(pollEvery):
			finished, failed = over()
		case <-ctx.Done():
			failed = ctx.Err()
		}
	}
	stopped.Store(true)
	workers.Wait()
	if err := errors.Join(append(errs, failed)...); err != nil {
		return figures{}, err
	}
	slices.Sort(all)
	at := func(q float64) time.Duration { return all[int(float64(len(all)-1)*q)] }
	return figures{requests: len(all), elapsed: time.Since(began), p50: at(.5), p99: at(.99)}, nil
}

// cycle creates a run, changes its state, and reads it and a page.
func (c *clients) cycle(conn *beside.Conn, took *[]time.Duration) error {
	call := func(method, path, body string) (beside.Answer, error) {
		began := time.Now()
		answer, err := conn.Call(method, path, []byte(body))
		*took = append(*took, time.Since(began))
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
