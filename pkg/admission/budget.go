package admission

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/orch-project/orch/pkg/processors"
)

// ErrExhausted is wrapped when the process, or the account, has no memory or no processor left for a request. A later attempt may succeed.
var ErrExhausted = errors.New("the memory for requests is in use")

// DefaultMemory is the memory of a Controller in bytes, unless a setting says otherwise.
const DefaultMemory = 128 << 20

// LargeBody is the length in bytes above which a body needs a processor. A compressed body needs one at any length.
const LargeBody = 16 << 10

// Controller has the bounds of one process. It is safe for concurrent use.
type Controller struct {
	processors        *Semaphore
	total, perAccount int64

	mu       sync.Mutex
	used     int64
	accounts map[string]int64 // Bytes in use by account; an account without bytes is absent.
}

// New returns a controller with so many bytes of memory, of which one account gets at most half.
func New(memory int64) *Controller {
	return &Controller{
		processors: NewSemaphore(Bounds{
			Total: processors.Half(), Unauthenticated: 1, Queue: 512, Wait: 10 * time.Second,
		}),
		total: memory, perAccount: memory / 2, accounts: map[string]int64{},
	}
}

// Used returns the bytes that are reserved now.
func (c *Controller) Used() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}

// Open returns the reservation of a request. Its memory is the account's, and key is whose processors it uses. The caller closes it. A
// nil Controller is unlimited.
func (c *Controller) Open(account string, key Key) *Reservation {
	if c == nil {
		return nil
	}
	return &Reservation{controller: c, account: account, key: key}
}

// Reservation holds what one request reserved. It serves one goroutine. A nil Reservation is unlimited.
type Reservation struct {
	controller *Controller
	account    string
	key        Key
	bytes      int64
	release    func() // Ends the work on a processor; nil without one.
}

// AcquireProcessor waits for a processor for work on so many bytes, and does nothing if the request has one. The request has arrived
// completely, so no slow sender makes others wait. The error wraps ErrExhausted. The caller calls ReleaseProcessor or Close.
func (r *Reservation) AcquireProcessor(ctx context.Context, bytes int) error {
	if r == nil || r.release != nil {
		return nil
	}
	release, err := r.controller.processors.Acquire(ctx, r.key, bytes)
	if err != nil {
		return fmt.Errorf("wait for a processor: %w: %w", ErrExhausted, err)
	}
	r.release = release
	return nil
}

// ReleaseProcessor gives the processor to other work, before this one waits for a broker, a store or another service.
func (r *Reservation) ReleaseProcessor() {
	if r != nil && r.release != nil {
		r.release()
		r.release = nil
	}
}

// Yield lets small requests run during work on a processor. Work calls it after each part that takes a fraction of a millisecond;
// otherwise it runs until the runtime preempts it, after ten.
func (r *Reservation) Yield() {
	if r != nil && r.release != nil {
		runtime.Gosched()
	}
}

// Charge reserves bytes before they are allocated. The error wraps ErrExhausted, and then nothing is reserved.
func (r *Reservation) Charge(bytes int) error {
	if r == nil || bytes <= 0 {
		return nil
	}
	c, n := r.controller, int64(bytes)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case n > c.perAccount-c.accounts[r.account]:
		return fmt.Errorf("reserve %d bytes: %w by other requests of the account", n, ErrExhausted)
	case n > c.total-c.used:
		return fmt.Errorf("reserve %d bytes: %w", n, ErrExhausted)
	}
	c.used += n
	c.accounts[r.account] += n
	r.bytes += n
	return nil
}

// Refund gives back bytes that Charge reserved and that are free again.
func (r *Reservation) Refund(bytes int) {
	if r == nil || bytes <= 0 {
		return
	}
	c, n := r.controller, min(int64(bytes), r.bytes)
	r.bytes -= n
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used -= n
	if c.accounts[r.account] -= n; c.accounts[r.account] == 0 {
		delete(c.accounts, r.account)
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
