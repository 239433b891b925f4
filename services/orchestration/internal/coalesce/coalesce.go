// Package coalesce lets concurrent callers share a read, and shows none of them a result that is older than its call.
//
//	call A ──► read 1 ─────────┐
//	call B ····(waits)·········└─► read 2 ──► results of B and C
//	call C ······(waits)·······────┘
//
// A caller that finds a read in progress cannot use its result: the read may have begun before a write that the caller made.
// It waits, together with all others, for one read that begins afterwards. So a caller waits for at most two reads, and at most
// one read of a key runs at a time.
package coalesce

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// errExited is the error of a shared read whose goroutine ended without a result.
var errExited = errors.New("shared read ended without a result")

// Group shares reads by key. The zero value is ready. It is safe for concurrent use.
type Group[K comparable, V any] struct {
	mu sync.Mutex
	// next has the keys with a read in progress, and the read that follows: nil while no caller waits.
	next map[K]*shared[V]
}

// shared is the read that follows. The other fields are set when done is closed.
type shared[V any] struct {
	read     func() (V, error)
	done     chan struct{}
	value    V
	err      error
	panicked error // A panic of read, with its stack.
}

// Do returns the result of a call of read that begins after the call of Do. Several callers may get one value: they must not
// change it. A shared read sees the values of one caller's context, but neither its deadline nor its cancellation; read must
// bound itself. Do panics when read does, also in the callers that share it.
func (g *Group[K, V]) Do(ctx context.Context, key K, read func(context.Context) (V, error)) (V, error) {
	g.mu.Lock()
	next, inProgress := g.next[key]
	if !inProgress {
		if g.next == nil {
			g.next = map[K]*shared[V]{}
		}
		g.next[key] = nil
		g.mu.Unlock()
		defer g.advance(key)
		return read(ctx)
	}
	if next == nil {
		detached := context.WithoutCancel(ctx)
		next = &shared[V]{read: func() (V, error) { return read(detached) }, done: make(chan struct{})}
		g.next[key] = next
	}
	g.mu.Unlock()
	select {
	case <-next.done:
		if next.panicked != nil {
			panic(next.panicked)
		}
		return next.value, next.err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}

// advance starts the read that callers wait for, or ends the key.
func (g *Group[K, V]) advance(key K) {
	g.mu.Lock()
	defer g.mu.Unlock()
	next := g.next[key]
	if next == nil {
		delete(g.next, key)
		return
	}
	g.next[key] = nil
	go func() {
		defer g.advance(key)
		next.run()
	}()
}

// run reads for all callers that wait. A panic is theirs: in this goroutine it would end the process.
func (s *shared[V]) run() {
	defer close(s.done)
	s.err = errExited
	defer func() {
		if p := recover(); p != nil {
			s.panicked = fmt.Errorf("shared read panicked: %v\n\n%s", p, debug.Stack())
		}
	}()
	s.value, s.err = s.read()
}
