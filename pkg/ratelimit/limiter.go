// Package ratelimit limits rates exactly over any number of processes, by token buckets that the processes share.
//
//	Take ──▶ tokens in stock ──▶ taken, without a request to the broker
//	     └──▶ none ──▶ known to be empty ──▶ refused, with the time until the next token
//	               └──▶ lease: compare-and-set of the shared state ──▶ stock
//	                                                   unused for leaseTime ──▶ returned
//
// All processes together take at most the burst of a bucket and the tokens that it has gained since. A process leases as many tokens as it
// needs within leaseTime, and at most a twentieth of the burst or the gain of leasePause. So a process keeps few unused tokens, and returns
// them after leaseTime.
//
// A process that ends without Run returning its stock loses those tokens, and so does a failed return. If the broker loses the
// shared states, every bucket is full again. While the broker is unavailable, a process takes the tokens in its stock; when the stock is
// empty, Take returns an error.
package ratelimit

import (
	"context"
	"sync"
	"time"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/clock"
)

const (
	// Store is the name of the broker's bucket with the states.
	Store = "rates"
	// storeBytes bounds the states. A state needs about 250 bytes.
	storeBytes = 16 << 20
	// stateAge is the time after which the broker drops a state that nobody has changed: its bucket is full.
	stateAge = 24 * time.Hour
	// leaseTime is the time for which a process leases tokens. After leaseTime the process returns its unused tokens.
	leaseTime = 250 * time.Millisecond
	// leasePause is the least time between two leases of a process from a bucket that had fewer tokens than the process wanted.
	leasePause = 20 * time.Millisecond
	// leaseTimeout bounds the wait for a lease, and the time after a failed one in which there is no further attempt.
	leaseTimeout = time.Second
)

// States are the shared states of token buckets, by their keys. A broker.KV implements it.
type States interface {
	Swap(ctx context.Context, key string, decide func(current []byte) (next []byte, err error)) error
}

// Options are what a Limiter needs.
type Options struct {
	// States are shared by all processes; nil means that the limits count in this process alone.
	States States
	// Clock is the same for all processes.
	Clock clock.Clock
}

// Limiter has the token buckets of a process. It is a run.Worker, and safe for concurrent use.
type Limiter struct {
	states States
	clock  clock.Clock

	mu      sync.Mutex
	buckets map[string]*Bucket
	stocked map[*Bucket]struct{} // The buckets that may have tokens in stock.
}

// New returns a limiter.
func New(o Options) *Limiter {
	if o.States == nil {
		o.States = &local{values: map[string][]byte{}}
	}
	return &Limiter{states: o.States, clock: o.Clock, buckets: map[string]*Bucket{}, stocked: map[*Bucket]struct{}{}}
}

// OpenStore opens the states of the processes that share a broker. They are in its memory: a lease waits for no disk. The store is a
// clock of the broker too, which is the same for all processes.
func OpenStore(ctx context.Context, conn *broker.Conn) (*broker.KV, error) {
	return conn.KeyValue(ctx, Store, broker.KVConfig{Description: "states of rate limits", Memory: storeBytes, MaxAge: stateAge})
}

// Bucket returns the token bucket of a key, with a limit from now on. The tokens that were taken stay taken. Processes use one limit for
// a key. Keys consist of letters, digits and the characters of broker.KV.
func (l *Limiter) Bucket(key string, limit Limit) *Bucket {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[key]
	if b == nil {
		b = &Bucket{limiter: l, key: key}
		l.buckets[key] = b
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit = limit
	return b
}

// Forget drops the bucket of a key from the memory of the process.
func (l *Limiter) Forget(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.buckets, key)
}

// Name implements run.Worker.
func (l *Limiter) Name() string { return "rate limits" }

// Run returns the tokens that the process does not use, and all of them when ctx ends.
func (l *Limiter) Run(ctx context.Context) error {
	ticker := time.NewTicker(leaseTime)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			l.returnStock(ctx, leaseTime)
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseTimeout)
			defer cancel()
			l.returnStock(ctx, 0)
			return nil
		}
	}
}

// returnStock returns the stock of the buckets whose last lease has at least an age.
func (l *Limiter) returnStock(ctx context.Context, age time.Duration) {
	l.mu.Lock()
	stocked := make([]*Bucket, 0, len(l.stocked))
	for b := range l.stocked {
		stocked = append(stocked, b)
	}
	l.mu.Unlock()
	for _, b := range stocked {
		b.returnStock(ctx, age)
	}
}

// local are states in the memory of this process.
type local struct {
	mu     sync.Mutex
	values map[string][]byte
}

// Swap implements States.
func (l *local) Swap(_ context.Context, key string, decide func([]byte) ([]byte, error)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	next, err := decide(l.values[key])
	if err == nil && next != nil {
		l.values[key] = next
	}
	return err
}
