package action

import (
	"sync"

	"github.com/google/uuid"
)

const (
	// parallel bounds the executions at once in this process.
	parallel = 128
	// maxShare bounds those of one workspace.
	maxShare = 8
)

// shares bound the executions of each workspace, so that a workspace with slow actions does not delay those of another one.
// The more workspaces execute actions, the smaller is the share of each: a further workspace finds a free place.
type shares struct {
	mu   sync.Mutex
	runs map[string]bool
	used map[uuid.UUID]int
}

func newShares() *shares { return &shares{runs: map[string]bool{}, used: map[uuid.UUID]int{}} }

// take reports whether a run may be executed now. The caller gives its place back.
func (s *shares) take(ws uuid.UUID, run string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs[run] || len(s.runs) >= parallel || s.used[ws] >= s.share() {
		return false
	}
	s.runs[run] = true
	s.used[ws]++
	return true
}

// share is how many executions a workspace may have: those of all workspaces and of one more fit.
func (s *shares) share() int { return min(maxShare, max(1, parallel/(len(s.used)+1))) }

// full reports whether no run can be executed now.
func (s *shares) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.runs) >= parallel
}

func (s *shares) give(ws uuid.UUID, run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.runs, run)
	if s.used[ws]--; s.used[ws] == 0 {
		delete(s.used, ws)
	}
}
