package admission

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/google/uuid"
)

// ErrBusy means that too much work of a key is in progress. A later attempt may succeed.
var ErrBusy = errors.New("too much work in progress")

// Key names the tenant or the network whose work competes with that of other keys. The work of one key is served in order.
type Key struct {
	tenant  uuid.UUID    // A workspace or an account.
	network netip.Prefix // Valid for clients that have not authenticated.
}

// Workspace is the key of an authenticated request, or of a webhook whose requests need no authentication.
func Workspace(ws uuid.UUID) Key { return Key{tenant: ws} }

// Account is the key of an account, for work that its workspaces share.
func Account(account uuid.UUID) Key { return Key{tenant: account} }

// The lengths of the networks that count as one client, because one client often owns all addresses of it.
const (
	networkBits4 = 24
	networkBits6 = 56
)

// Network is the key of a client that has not authenticated.
func Network(address netip.Addr) Key {
	address = address.Unmap().WithZone("")
	bits := networkBits6
	if address.Is4() {
		bits = networkBits4
	}
	network, err := address.Prefix(bits)
	if err != nil { // The address is unknown. Such clients share a key.
		network = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	return Key{network: network}
}

// unauthenticated reports whether the client of the work has not authenticated.
func (k Key) unauthenticated() bool { return k.network.IsValid() }

// Bounds configures a Semaphore. Without Total, Unauthenticated or PerKey (0) the semaphore has no such bound.
type Bounds struct {
	// Total bounds all work in progress, Unauthenticated the work of clients without authentication, PerKey the work of one key.
	Total, Unauthenticated, PerKey int
	// Queue bounds the waiting work of one key; 0 refuses work instead of queueing it.
	Queue int
	// Wait bounds the time that work waits.
	Wait time.Duration
}

// Reads are the bounds of a workspace's reads of lists and counts. Eight reads keep a database busy that is a network away, and the embedded store too.
var Reads = Bounds{PerKey: 8, Queue: 512, Wait: 5 * time.Second}

// Semaphore bounds work in progress by self-clocked fair queueing. Among the keys that wait, the key begins whose work would end first
// if all keys progressed at the same speed. So small work overtakes large work, a busy key does not delay others, and nothing starves.
// It is safe for concurrent use.
type Semaphore struct {
	bounds Bounds

	mu                       sync.Mutex
	running, unauthenticated int
	virtual                  int64         // The virtual time: the finish of the work that began last.
	keys                     map[Key]*flow // Keys with work in progress or waiting.
	queued                   map[Key]*flow // Keys with waiting work.
}

// flow is the work of one key.
type flow struct {
	running int
	finish  int64 // The virtual finish of the last work.
	waiting []*waiter
}

// waiter is work that waits.
type waiter struct {
	finish int64
	begin  chan struct{} // Closed when it begins.
}

// NewSemaphore returns a semaphore without work.
func NewSemaphore(b Bounds) *Semaphore {
	return &Semaphore{bounds: b, keys: map[Key]*flow{}, queued: map[Key]*flow{}}
}

// Acquire waits until work of a key may begin. The cost is the relative size of the work, at least 1. The caller calls release once,
// when the work has ended. The error wraps ErrBusy, or the error of ctx.
func (s *Semaphore) Acquire(ctx context.Context, key Key, cost int) (release func(), err error) {
	w, err := s.enter(key, max(1, int64(cost)))
	if err != nil {
		return nil, err
	}
	release = func() { s.leave(key) }
	if w == nil {
		return release, nil
	}
	timer := time.NewTimer(s.bounds.Wait)
	defer timer.Stop()
	select {
	case <-w.begin:
		return release, nil
	case <-timer.C:
		err = fmt.Errorf("wait for %s: %w", s.bounds.Wait, ErrBusy)
	case <-ctx.Done():
		err = fmt.Errorf("wait for other work: %w", ctx.Err())
	}
	if !s.abandon(key, w) {
		release() // It began at the same moment.
	}
	return nil, err
}

// enter begins work, or returns the waiter of work that has to wait.
func (s *Semaphore) enter(key Key, cost int64) (*waiter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.keys[key]
	if f == nil {
		f = &flow{}
	}
	finish := max(s.virtual, f.finish) + cost
	if len(f.waiting) == 0 && s.mayBegin(key, f) { // No other key waits that may begin: leave has begun it.
		s.keys[key] = f
		s.begin(key, f, finish)
		f.finish = finish
		return nil, nil
	}
	if len(f.waiting) >= s.bounds.Queue {
		return nil, fmt.Errorf("%w: %d, and %d wait", ErrBusy, s.running, len(f.waiting))
	}
	w := &waiter{finish: finish, begin: make(chan struct{})}
	f.finish, f.waiting = finish, append(f.waiting, w)
	s.keys[key], s.queued[key] = f, f
	return w, nil
}

func (s *Semaphore) mayBegin(key Key, f *flow) bool {
	within := func(n, bound int) bool { return bound == 0 || n < bound }
	return within(s.running, s.bounds.Total) && within(f.running, s.bounds.PerKey) &&
		(!key.unauthenticated() || within(s.unauthenticated, s.bounds.Unauthenticated))
}

func (s *Semaphore) begin(key Key, f *flow, finish int64) {
	s.virtual = max(s.virtual, finish)
	s.running++
	f.running++
	if key.unauthenticated() {
		s.unauthenticated++
	}
}

// leave ends work of a key, and begins what may begin now.
func (s *Semaphore) leave(key Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.keys[key]
	s.running--
	f.running--
	if key.unauthenticated() {
		s.unauthenticated--
	}
	s.forget(key, f)
	for s.beginNext() {
	}
}

// beginNext begins the work that finishes first among what may begin.
func (s *Semaphore) beginNext() bool {
	var next *flow
	var nextKey Key
	for key, f := range s.queued {
		if s.mayBegin(key, f) && (next == nil || f.waiting[0].finish < next.waiting[0].finish) {
			next, nextKey = f, key
		}
	}
	if next == nil {
		return false
	}
	w := next.waiting[0]
	next.waiting = next.waiting[1:]
	if len(next.waiting) == 0 {
		delete(s.queued, nextKey)
	}
	s.begin(nextKey, next, w.finish)
	close(w.begin)
	return true
}

// forget removes a key without work. Its next work begins at the virtual time, which is not before the finish of its last.
func (s *Semaphore) forget(key Key, f *flow) {
	if len(f.waiting) == 0 {
		delete(s.queued, key)
		if f.running == 0 {
			delete(s.keys, key)
		}
	}
}

// abandon removes work that waits no longer; false when it has begun.
func (s *Semaphore) abandon(key Key, gone *waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.keys[key]; f != nil {
		for i, w := range f.waiting {
			if w == gone {
				f.waiting = append(f.waiting[:i:i], f.waiting[i+1:]...)
				s.forget(key, f)
				return true
			}
		}
	}
	return false
}
