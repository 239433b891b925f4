// Package membudget bounds the memory that foreign bytes take in this process while they are read, decompressed, parsed and rendered.
//
//	Budget ── total of the process, and of each account at most half of it
//	  └─ Reservation ── one request: Charge before each allocation, Close at its end
//
// Nothing waits for memory: a request beyond the bound fails at once, and its sender tries again. So a small request is never
// queued behind a large one.
//
// A large request acquires a processor (Reservation.AcquireProcessor) while it is decompressed, parsed and rendered. Large requests use
// half of the processors at most, and small requests find the others free.
package membudget

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// ErrExhausted is wrapped when the process, or the account, has no memory left for a request. A later attempt may succeed.
var ErrExhausted = errors.New("the memory for requests is in use")

// Default is the total of a Budget in bytes, unless a setting says otherwise.
const Default = 128 << 20

// Budget is the bound of one process. It is safe for concurrent use.
type Budget struct {
	total, perAccount int64

	mu       sync.Mutex
	used     int64
	accounts map[string]int64 // Bytes in use by account; an account without bytes is absent.
}

// New returns a budget of total bytes, of which one account gets at most half.
func New(total int64) *Budget {
	return &Budget{total: total, perAccount: total / 2, accounts: map[string]int64{}}
}

// Used returns the bytes that are reserved now.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Open returns the reservation of a request of an account. The caller closes it. A nil Budget is unlimited.
func (b *Budget) Open(account string) *Reservation {
	if b == nil {
		return nil
	}
	return &Reservation{budget: b, account: account}
}

// Reservation holds what one request reserved. It serves one goroutine. A nil Reservation is unlimited.
type Reservation struct {
	budget  *Budget
	account string
	bytes   int64
	// processor reports whether the request has one of the processors for large requests.
	processor bool
}

const (
	// LargeBody is the length in bytes above which a body needs a processor. A compressed body needs one at any length.
	LargeBody = 64 << 10
	// processorTimeout bounds the wait for a processor.
	processorTimeout = 10 * time.Second
)

// processors is the semaphore of large requests. All budgets of a process share it: in one process the gateway and the hooks service
// have a budget each.
var processors = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))

// AcquireProcessor waits for a processor, and does nothing if the request has one. The request has arrived completely, so no slow
// sender makes others wait. The error wraps ErrExhausted. The caller calls ReleaseProcessor or Close.
func (r *Reservation) AcquireProcessor(ctx context.Context) error {
	if r == nil || r.processor {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, processorTimeout)
	defer cancel()
	select {
	case processors <- struct{}{}:
		r.processor = true
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for other large requests: %w: %w", ErrExhausted, ctx.Err())
	}
}

// ReleaseProcessor gives the processor to the next large request, before this one waits for a broker or a store.
func (r *Reservation) ReleaseProcessor() {
	if r != nil && r.processor {
		<-processors
		r.processor = false
	}
}

// Charge reserves bytes before they are allocated. The error wraps ErrExhausted, and then nothing is reserved.
func (r *Reservation) Charge(bytes int) error {
	if r == nil || bytes <= 0 {
		return nil
	}
	b, n := r.budget, int64(bytes)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case n > b.perAccount-b.accounts[r.account]:
		return fmt.Errorf("reserve %d bytes: %w by other requests of the account", n, ErrExhausted)
	case n > b.total-b.used:
		return fmt.Errorf("reserve %d bytes: %w", n, ErrExhausted)
	}
	b.used += n
	b.accounts[r.account] += n
	r.bytes += n
	return nil
}

// Refund gives back bytes that Charge reserved and that are free again.
func (r *Reservation) Refund(bytes int) {
	if r == nil || bytes <= 0 {
		return
	}
	b, n := r.budget, min(int64(bytes), r.bytes)
	r.bytes -= n
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	if b.accounts[r.account] -= n; b.accounts[r.account] == 0 {
		delete(b.accounts, r.account)
	}
}

// Close gives everything back, the processor too.
func (r *Reservation) Close() {
	if r != nil {
		r.ReleaseProcessor()
		r.Refund(int(r.bytes))
	}
}

// valueSize is the memory in bytes of the largest value of a tree: an empty object or array.
const valueSize = 160

// Tree returns the memory in bytes of the values that are built from a text, the text included.
func Tree(length, values int) int { return length + valueSize*values }

// Parsed returns the memory in bytes that a text takes which is built into a tree, written again and sent as a message.
func Parsed(length, values int) int { return Tree(length, values) + 3*length }
