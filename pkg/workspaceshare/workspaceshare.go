// Package workspaceshare bounds the work of a kind that one workspace has in progress, so a workspace that asks for much leaves
// processors and connections to others. Orchestration bounds reads of lists and counts, the gateway requests with large bodies.
//
//	work ──▶ fewer than max in progress ──▶ begins
//	    └──▶ fewer than queue wait ──▶ waits in order ──▶ begins, or ErrBusy after Wait
//	    └──▶ ErrBusy
//
// It does not bound the length of one piece of work.
package workspaceshare

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
)

// ErrBusy means that a workspace has too much work in progress; trying again may succeed.
var ErrBusy = errors.New("too much work of the workspace in progress")

// Bounds are those of one workspace.
type Bounds struct {
	// Max is the number in progress, Queue the number that waits.
	Max, Queue int
	// Wait is how long one waits at most.
	Wait time.Duration
}

// Reads are the bounds of a workspace's reads of lists and counts. Eight reads keep a database busy that is a network away, and the embedded store too.
var Reads = Bounds{Max: 8, Queue: 512, Wait: 5 * time.Second}

// Group has the work of all workspaces. It is safe for concurrent use.
type Group struct {
	bounds Bounds
	mu     sync.Mutex
	shares map[uuid.UUID]*share // Of the workspaces that have work.
}

// share is that of one workspace.
type share struct {
	running int
	waiting []chan struct{} // Closed when it may begin, the oldest first.
}

// New returns a group without work.
func New(b Bounds) *Group { return &Group{bounds: b, shares: map[uuid.UUID]*share{}} }

// Begin waits until work of the workspace may begin. The caller calls end once, when it has ended. The error is ErrBusy, or
// that of ctx.
func (g *Group) Begin(ctx context.Context, ws uuid.UUID) (end func(), err error) {
	turn, err := g.enter(ws)
	if err != nil {
		return nil, err
	}
	end = func() { g.leave(ws) }
	if turn == nil {
		return end, nil
	}
	timer := time.NewTimer(g.bounds.Wait)
	defer timer.Stop()
	select {
	case <-turn:
		return end, nil
	case <-timer.C:
		err = fmt.Errorf("wait for %s: %w", g.bounds.Wait, ErrBusy)
	case <-ctx.Done():
		err = fmt.Errorf("wait for other work of the workspace: %w", ctx.Err())
	}
	if !g.abandon(ws, turn) {
		end() // The turn came at the same moment.
	}
	return nil, err
}

// enter begins work, or returns the channel that tells when it may begin.
func (g *Group) enter(ws uuid.UUID) (turn chan struct{}, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.shares[ws]
	if s == nil {
		s = &share{}
		g.shares[ws] = s
	}
	switch {
	case s.running < g.bounds.Max:
		s.running++
		return nil, nil
	case len(s.waiting) >= g.bounds.Queue:
		return nil, fmt.Errorf("%w: %d, and %d wait", ErrBusy, s.running, len(s.waiting))
	}
	turn = make(chan struct{})
	s.waiting = append(s.waiting, turn)
	return turn, nil
}

// leave ends work, and lets the one begin that waits longest.
func (g *Group) leave(ws uuid.UUID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.shares[ws]
	if len(s.waiting) > 0 {
		close(s.waiting[0])
		s.waiting = s.waiting[1:]
		return
	}
	if s.running--; s.running == 0 {
		delete(g.shares, ws)
	}
}

// abandon removes work that waits no longer; false when its turn has come.
func (g *Group) abandon(ws uuid.UUID, turn chan struct{}) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.shares[ws]; s != nil {
		for i, w := range s.waiting {
			if w == turn {
				s.waiting = append(s.waiting[:i:i], s.waiting[i+1:]...)
				return true
			}
		}
	}
	return false
}
