package admission

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/fair"
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
	virtual                  float64       // The virtual time: the finish of the work that began last.
	keys                     map[Key]*flow // Keys with work in progress or waiting.
	// ready are the keys with waiting work whose own bound lets it begin. Keys of clients without authentication have a queue of
	// their own, because a further bound holds for them.
	ready, readyUnauthenticated fair.Queue[*flow]
}

// flow is the work of one key.
type flow struct {
	key     Key
	running int
	finish  float64 // The virtual finish of the last work.
	waiting []*waiter
	ready   *fair.Item[*flow] // Nil unless it is in a queue.
}

// waiter is work that waits.
type waiter struct {
	finish float64
	begin  chan struct{} // Closed when it begins.
}

// NewSemaphore returns a semaphore without work.
func NewSemaphore(b Bounds) *Semaphore {
	return &Semaphore{bounds: b, keys: map[Key]*flow{}}
}

// Acquire waits until work of a key may begin. The cost is the relative size of the work, at least 1. The caller calls release once,
// when the work has ended. The error wraps ErrBusy, or the error of ctx.
func (s *Semaphore) Acquire(ctx context.Context, key Key, cost int) (release func(), err error) {
	w, err := s.enter(key, float64(max(1, cost)))
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
func (s *Semaphore) enter(key Key, cost float64) (*waiter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.keys[key]
	if f == nil {
		f = &flow{key: key}
	}
	finish := max(s.virtual, f.finish) + cost
	if len(f.waiting) == 0 && s.mayBegin(f) { // No other key waits that may begin: leave has begun it.
		s.keys[key] = f
		s.begin(f, finish)
		f.finish = finish
		return nil, nil
	}
	if len(f.waiting) >= s.bounds.Queue {
		return nil, fmt.Errorf("%w: %d, and %d wait", ErrBusy, s.running, len(f.waiting))
	}
	w := &waiter{finish: finish, begin: make(chan struct{})}
	f.finish, f.waiting = finish, append(f.waiting, w)
	s.keys[key] = f
	s.update(f)
	return w, nil
}

// within reports whether a bound allows one more than n.
func within(n, bound int) bool { return bound == 0 || n < bound }

func (s *Semaphore) mayBegin(f *flow) bool {
	return within(s.running, s.bounds.Total) && within(f.running, s.bounds.PerKey) &&
		(!f.key.unauthenticated() || within(s.unauthenticated, s.bounds.Unauthenticated))
}

func (s *Semaphore) begin(f *flow, finish float64) {
	s.virtual = max(s.virtual, finish)
	s.running++
	f.running++
	if f.key.unauthenticated() {
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
	s.update(f)
	for s.beginNext() {
	}
}

// beginNext begins the work that finishes first among what may begin.
func (s *Semaphore) beginNext() bool {
	if !within(s.running, s.bounds.Total) {
		return false
	}
	next := s.ready.First()
	if within(s.unauthenticated, s.bounds.Unauthenticated) {
		if other := s.readyUnauthenticated.First(); next == nil || other != nil && other.Finish < next.Finish {
			next = other
		}
	}
	if next == nil {
		return false
	}
	f := next.Value
	w := f.waiting[0]
	f.waiting = f.waiting[1:]
	s.begin(f, w.finish)
	s.update(f)
	close(w.begin)
	return true
}

// update puts a key with ready work into its queue, after a change of its work. It forgets a key without work: its next work begins at the
// virtual time, which is not before the finish of its last.
func (s *Semaphore) update(f *flow) {
	queue := &s.ready
	if f.key.unauthenticated() {
		queue = &s.readyUnauthenticated
	}
	if f.ready != nil {
		queue.Remove(f.ready)
		f.ready = nil
	}
	if len(f.waiting) > 0 && within(f.running, s.bounds.PerKey) {
		f.ready = queue.Push(f, f.waiting[0].finish)
	}
	if len(f.waiting) == 0 && f.running == 0 {
		delete(s.keys, f.key)
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
				s.update(f)
				return true
			}
		}
	}
	return false
}
