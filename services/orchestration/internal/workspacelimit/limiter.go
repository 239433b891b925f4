// Package workspacelimit bounds concurrent work by workspace, so that a workspace with slow work does not delay that of another one.
package workspacelimit

import (
	"sync"

	"github.com/google/uuid"
)

// Limiter bounds concurrent items of work: all of them, and those of one workspace. The limit of a workspace is the total divided by the
// active workspaces and one more, and has a maximum.
type Limiter struct {
	total, maxShare int

	mu    sync.Mutex
	items map[string]bool
	used  map[uuid.UUID]int
}

// New returns a limiter of all items, and of those of one workspace.
func New(total, maxShare int) *Limiter {
	return &Limiter{total: total, maxShare: maxShare, items: map[string]bool{}, used: map[uuid.UUID]int{}}
}

// Acquire reports whether work on an item may begin now. The caller releases it.
func (l *Limiter) Acquire(ws uuid.UUID, item string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.items[item] || len(l.items) >= l.total || l.used[ws] >= l.limit() {
		return false
	}
	l.items[item] = true
	l.used[ws]++
	return true
}

// limit is the number of items that a workspace may have at once. The items of one more workspace still fit.
func (l *Limiter) limit() int { return min(l.maxShare, max(1, l.total/(len(l.used)+1))) }

// Full reports whether no work can begin now.
func (l *Limiter) Full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.items) >= l.total
}

// Release ends the work on an item.
func (l *Limiter) Release(ws uuid.UUID, item string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.items, item)
	if l.used[ws]--; l.used[ws] == 0 {
		delete(l.used, ws)
	}
}
