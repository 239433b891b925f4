package e2e

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

// Each contested run has this many clients that propose states, and one that reads its state.
const contestedWriters = 3

// Contention is a race of clients for the states of a few runs. It checks afterwards that set_state was linearizable.
type Contention struct {
	client  *Client
	runs    map[string]*Register
	stop    context.CancelFunc
	clients sync.WaitGroup
}

// NewContention creates so many runs of a flow.
func NewContention(ctx context.Context, client *Client, o *Orch, flow string, runs int) (*Contention, error) {
	c := &Contention{client: client, runs: map[string]*Register{}}
	for range runs {
		run := client.CreateRun(ctx, o, flow)
		if run == "" {
			return nil, fmt.Errorf("create a run of flow %s: no response of %d", flow, http.StatusCreated)
		}
		c.runs[run] = NewRegister()
	}
	return c, nil
}

// Start lets clients race until Stop. pick returns the server of the next request.
func (c *Contention) Start(ctx context.Context, pick func() *Orch) {
	ctx, c.stop = context.WithCancel(ctx)
	repeat := func(request func(ctx context.Context)) {
		c.clients.Go(func() {
			for ctx.Err() == nil {
				request(ctx)
				pause(ctx) // So that the check at the end reads no more than it must.
			}
		})
	}
	for run, register := range c.runs {
		for range contestedWriters {
			repeat(func(ctx context.Context) { c.client.Contend(ctx, pick(), run, register) })
		}
		repeat(func(ctx context.Context) { c.client.Observe(ctx, pick(), run, register) })
	}
}

// Stop ends the race and waits for the requests in progress.
func (c *Contention) Stop() {
	c.stop()
	c.clients.Wait()
}

// Check compares the operations on each run with its history, and fails the test for a contradiction. The event of an
// unacknowledged state may follow late, so the check tries again until the histories agree or the timeout ends. It returns the
// number of operations.
func (c *Contention) Check(t testing.TB, o *Orch, timeout time.Duration) (operations int) {
	t.Helper()
	for run, register := range c.runs {
		var wrong []string
		for began := time.Now(); ; {
			history, err := c.client.History(t.Context(), o, run)
			if err != nil {
				t.Fatal(err)
			}
			if wrong = register.Check(history); len(wrong) == 0 || time.Since(began) > timeout {
				break
			}
			pause(t.Context())
		}
		for _, contradiction := range wrong[:min(len(wrong), 5)] {
			t.Errorf("run %s: %s", run, contradiction)
		}
		if len(wrong) > 0 {
			t.Errorf("run %s: %d contradictions to a linearizable set_state", run, len(wrong))
		}
		operations += register.Size()
	}
	return operations
}
