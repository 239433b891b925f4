package e2e

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// loadClients post webhooks and run flows, half of them each.
const loadClients = 4

// Load is a steady load of webhooks and states on the gateways of a balancer.
type Load struct {
	// Webhooks and States measure the longest time without a success.
	Webhooks, States Availability

	client   *Client
	balancer *Balancer
	number   atomic.Int64
	stop     context.CancelFunc
	clients  sync.WaitGroup
}

// StartLoad starts clients that post to a webhook and run a flow. The ledger of the client records what was acknowledged. The
// caller stops the load.
func StartLoad(ctx context.Context, client *Client, balancer *Balancer, slug, flow string) *Load {
	l := &Load{client: client, balancer: balancer}
	ctx, l.stop = context.WithCancel(ctx)
	l.Webhooks.Success()
	l.States.Success()
	for i := range loadClients {
		l.clients.Go(func() {
			for ctx.Err() == nil {
				pause(ctx) // A steady load, so that the check afterwards stays short.
				if i%2 == 0 {
					l.deliver(ctx, slug)
				} else {
					l.run(ctx, flow)
				}
			}
		})
	}
	return l
}

func (l *Load) deliver(ctx context.Context, slug string) {
	g, number := l.balancer.Pick(), fmt.Sprint(l.number.Add(1))
	l.client.Deliver(ctx, g, slug, number)
	if l.client.Ledger.Delivered(number) {
		l.Webhooks.Success()
	} else {
		l.balancer.Failed(g)
	}
}

func (l *Load) run(ctx context.Context, flow string) {
	g := l.balancer.Pick()
	run := l.client.CreateRun(ctx, g, flow)
	if run == "" {
		l.balancer.Failed(g)
		return
	}
	l.States.Success()
	l.client.SetState(ctx, g, run, "RUNNING")
}

// Progress waits until both kinds of requests have succeeded and so many writes were acknowledged from now on.
func (l *Load) Progress(ctx context.Context, writes int) {
	began, before := time.Now(), l.client.Ledger.Acknowledged()
	for ctx.Err() == nil && (l.client.Ledger.Acknowledged() < before+writes || !l.Webhooks.Since(began) || !l.States.Since(began)) {
		pause(ctx)
	}
}

// Stop ends the load and waits for the requests in progress.
func (l *Load) Stop() {
	l.stop()
	l.clients.Wait()
}

// Balancer sends requests to gateways in turn, and leaves out one that did not respond for a moment, as load balancers do.
type Balancer struct {
	Gateways []*Orch

	mu   sync.Mutex
	next int
	down map[*Orch]time.Time
}

// Use replaces the gateways.
func (b *Balancer) Use(gateways ...*Orch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Gateways = gateways
}

// Pick returns the gateway of the next request.
func (b *Balancer) Pick() *Orch {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.Gateways {
		b.next++
		if g := b.Gateways[b.next%len(b.Gateways)]; time.Since(b.down[g]) > time.Second {
			return g
		}
	}
	return b.Gateways[b.next%len(b.Gateways)]
}

// Failed leaves a gateway out for a second.
func (b *Balancer) Failed(g *Orch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down == nil {
		b.down = map[*Orch]time.Time{}
	}
	b.down[g] = time.Now()
}

// Availability measures the longest time without a success.
type Availability struct {
	mu      sync.Mutex
	last    time.Time
	longest time.Duration
}

// Success notes a success.
func (a *Availability) Success() {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if !a.last.IsZero() {
		a.longest = max(a.longest, now.Sub(a.last))
	}
	a.last = now
}

// Since reports whether there was a success after a time.
func (a *Availability) Since(t time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last.After(t)
}

// Longest returns the longest time without a success since the last call, up to now.
func (a *Availability) Longest() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	longest := max(a.longest, time.Since(a.last))
	a.longest = 0
	return longest
}
