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

// limiter bounds the executions of each workspace, so that a workspace with slow actions does not delay those of another one.
// The limit of a workspace is 128 / (active + 1), at most 8.
type limiter struct {
	mu   sync.Mutex
	runs map[string]bool
	used map[uuid.UUID]int
}

func newLimiter() *limiter { return &limiter{runs: map[string]bool{}, used: map[uuid.UUID]int{}} }

// acquire reports whether a run may be executed now. The caller releases it.
func (s *limiter) acquire(ws uuid.UUID, run string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs[run] || len(s.runs) >= parallel || s.used[ws] >= s.limit() {
		return false
	}
	s.runs[run] = true
	s.used[ws]++
	return true
}

// limit is the number of executions that a workspace may have at once. The executions of one more workspace still fit.
func (s *limiter) limit() int { return min(maxShare, max(1, parallel/(len(s.used)+1))) }

// full reports whether no run can be executed now.
func (s *limiter) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.runs) >= parallel
}

func (s *limiter) release(ws uuid.UUID, run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.runs, run)
	if s.used[ws]--; s.used[ws] == 0 {
		delete(s.used, ws)
	}
}
