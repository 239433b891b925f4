package session

import (
	"net/netip"
	"sync"
	"time"

	"github.com/orch-project/orch/pkg/clock"
)

const (
	// MaxAttempts is the number of sign-in attempts per address and minute.
	MaxAttempts = 5
	window      = time.Minute
	// maxAddresses bounds the memory; beyond it, the limit also counts unknown addresses together.
	maxAddresses = 10_000
)

// Attempts limits sign-in attempts per client address. It is safe for concurrent use.
type Attempts struct {
	clock clock.Clock

	mu    sync.Mutex
	since time.Time // Start of the current window.
	count map[netip.Prefix]int
}

// NewAttempts returns a limiter.
func NewAttempts(c clock.Clock) *Attempts {
	return &Attempts{clock: c, count: map[netip.Prefix]int{}}
}

// Allow counts an attempt and reports whether it may proceed. IPv6 addresses count by their /64 network.
func (a *Attempts) Allow(from netip.Addr) bool {
	from = from.Unmap()
	bits := from.BitLen()
	if from.Is6() {
		bits = 64
	}
	prefix, _ := from.Prefix(bits) // An unknown address is the zero prefix.
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := a.clock.Now(); now.Sub(a.since) >= window {
		a.since = now
		clear(a.count)
	}
	if _, known := a.count[prefix]; !known && len(a.count) >= maxAddresses {
		prefix = netip.Prefix{}
	}
	a.count[prefix]++
	return a.count[prefix] <= MaxAttempts
}
