package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/test/bench/beside"
)

// kind is a way to hold slots. prepare creates the limit and returns what a client needs; take reports whether the client has a slot, and
// else the time until its next request; release returns it.
type kind struct {
	name    string
	prepare func(c *beside.Conn, slots int) (deployment string, err error)
	open    func(c *beside.Conn, deployment string) (*holder, error)
}

// holder is one client.
type holder struct {
	take    func() (has bool, again time.Duration, err error)
	release func() error
}

// reproposed is the interval in which a flow run is proposed again. Stock workers poll every 10 seconds.
const reproposed = time.Second

var kinds = []kind{
	{"a global limit", limitNamed("database"), withLease("database", false)},
	{"the limit of a tag", limitNamed("tag:heavy"), withLease("tag:heavy", true)},
	{"the limit of a tag by the older API", limitNamed("tag:older"), ofTag("older")},
	{"the limit of a deployment", limitOfDeployment, ofFlowRun},
}

func limitNamed(name string) func(*beside.Conn, int) (string, error) {
	return func(c *beside.Conn, slots int) (string, error) {
		_, err := c.Call(http.MethodPost, "/v2/concurrency_limits/", fmt.Appendf(nil, `{"name":%q,"limit":%d}`, name, slots))
		return "", err
	}
}

// created posts a body and returns the id of the new object.
func created(c *beside.Conn, path, body string) (string, error) {
	answer, err := c.Call(http.MethodPost, path, []byte(body))
	if err != nil {
		return "", err
	}
	var object struct{ ID string }
	return object.ID, answer.Decode(&object)
}

func limitOfDeployment(c *beside.Conn, slots int) (string, error) {
	flow, err := created(c, "/flows/", `{"name":"slots"}`)
	if err != nil {
		return "", err
	}
	return created(c, "/deployments/", fmt.Sprintf(`{"name":"slots","flow_id":%q,"concurrency_limit":%d}`, flow, slots))
}

// refused returns the time until the next request of a 423.
func refused(answer beside.Answer) (time.Duration, error) {
	wait, err := strconv.ParseFloat(answer.Header.Get("Retry-After"), 64)
	if err != nil {
		return 0, fmt.Errorf("read Retry-After: %w", err)
	}
	return time.Duration(wait * float64(time.Second)), nil
}

func withLease(name string, stated bool) func(*beside.Conn, string) (*holder, error) {
	return func(c *beside.Conn, _ string) (*holder, error) {
		body := fmt.Sprintf(`{"names":[%q],"slots":1}`, name)
		if stated {
			body = fmt.Sprintf(`{"names":[%q],"slots":1,"holder":{"type":"task_run","id":%q}}`, name, uuid.New())
		}
		var lease struct {
			ID string `json:"lease_id"`
		}
		return &holder{
			take: func() (bool, time.Duration, error) {
				answer, err := c.Call(http.MethodPost, "/v2/concurrency_limits/increment-with-lease", []byte(body), http.StatusOK, http.StatusLocked)
				if err != nil {
					return false, 0, err
				}
				if answer.Status == http.StatusLocked {
					wait, err := refused(answer)
					return false, wait, err
				}
				return true, 0, answer.Decode(&lease)
			},
			release: func() error {
				_, err := c.Call(http.MethodPost, "/v2/concurrency_limits/decrement-with-lease", fmt.Appendf(nil, `{"lease_id":%q}`, lease.ID))
				return err
			},
		}, nil
	}
}

func ofTag(tag string) func(*beside.Conn, string) (*holder, error) {
	return func(c *beside.Conn, _ string) (*holder, error) {
		body := fmt.Appendf(nil, `{"names":[%q],"task_run_id":%q}`, tag, uuid.New())
		return &holder{
			take: func() (bool, time.Duration, error) {
				answer, err := c.Call(http.MethodPost, "/concurrency_limits/increment", body, http.StatusOK, http.StatusLocked)
				if err != nil || answer.Status == http.StatusOK {
					return err == nil, 0, err
				}
				wait, err := refused(answer)
				return false, wait, err
			},
			release: func() error {
				_, err := c.Call(http.MethodPost, "/concurrency_limits/decrement", body)
				return err
			},
		}, nil
	}
}

func ofFlowRun(c *beside.Conn, deployment string) (*holder, error) {
	run, err := created(c, "/deployments/"+deployment+"/create_flow_run", `{}`)
	if err != nil {
		return nil, err
	}
	propose := func(state string) (string, error) {
		answer, err := c.Call(http.MethodPost, "/flow_runs/"+run+"/set_state", fmt.Appendf(nil, `{"state":{"type":%q}}`, state))
		if err != nil {
			return "", err
		}
		var result struct{ Status string }
		return result.Status, answer.Decode(&result)
	}
	return &holder{
		take: func() (bool, time.Duration, error) {
			status, err := propose("PENDING")
			return status == "ACCEPT", reproposed, err
		},
		release: func() error {
			_, err := propose("COMPLETED")
			return err
		},
	}, nil
}

// work configures the measurement.
type work struct {
	server         *beside.Server
	waiters, slots int
	held           time.Duration
}

// client is what one client experienced.
type client struct {
	waits    time.Time   // When it was first refused.
	requests []time.Time // The starts of its requests.
	has      time.Time   // When it had a slot.
	released time.Time   // When its release was acknowledged.
}

// measure lets the holders of all slots release them when all clients wait.
func (w work) measure(ctx context.Context, k kind) (figures, error) {
	setup := w.server.Conn()
	defer setup.Close()
	deployment, err := k.prepare(setup, w.slots)
	if err != nil {
		return figures{}, err
	}
	clients := make([]client, w.slots+w.waiters)
	failures := make([]error, len(clients))
	waiting, start := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	for i := range clients {
		conn := w.server.Conn()
		defer conn.Close()
		h, err := k.open(conn, deployment)
		if err != nil {
			return figures{}, err
		}
		group.Go(func() {
			failures[i] = clients[i].run(ctx, h, waiting, start, w.held)
		})
		select {
		case <-waiting:
		case <-ctx.Done():
			return figures{}, ctx.Err()
		}
	}
	began := time.Now()
	close(start)
	group.Wait()
	f := figures{clients: clients[w.slots:], elapsed: time.Since(began)}
	for _, c := range clients {
		f.released = append(f.released, c.released)
	}
	return f, errors.Join(failures...)
}

// run requests a slot until the client has it, and releases it. It reports the first response.
func (c *client) run(ctx context.Context, h *holder, first chan<- struct{}, start <-chan struct{}, held time.Duration) error {
	for {
		c.requests = append(c.requests, time.Now())
		has, again, err := h.take()
		if len(c.requests) == 1 {
			c.waits = time.Now()
			first <- struct{}{}
		}
		if err != nil {
			return err
		}
		if has {
			break
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c.has = time.Now()
	<-start
	time.Sleep(held)
	err := h.release()
	c.released = time.Now()
	return err
}

// figures are the results of one kind.
type figures struct {
	clients  []client // In the order in which they began to wait.
	released []time.Time
	elapsed  time.Duration
}

// handover is a quantile of the time from the first request of a client after the release of its slot until the client has the slot. The
// slots are due in the order of waiting.
func (f figures) handover(q float64) time.Duration {
	released := slices.SortedFunc(slices.Values(f.released), time.Time.Compare)
	took := make([]time.Duration, len(f.clients))
	for i, c := range f.clients {
		next := slices.IndexFunc(c.requests, func(at time.Time) bool { return at.After(released[i]) })
		if next >= 0 && c.has.After(c.requests[next]) {
			took[i] = c.has.Sub(c.requests[next])
		}
	}
	slices.Sort(took)
	return took[int(float64(len(took)-1)*q)]
}

// tau is Kendall's rank correlation of the order of waiting and the order of service.
func (f figures) tau() float64 {
	concordant, pairs := 0, 0
	for i, a := range f.clients {
		for _, b := range f.clients[i+1:] {
			pairs++
			if a.has.Before(b.has) {
				concordant++
			} else {
				concordant--
			}
		}
	}
	return float64(concordant) / float64(pairs)
}
