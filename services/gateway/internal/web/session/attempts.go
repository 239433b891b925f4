package session

import (
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/orch-project/orch/pkg/clock"
)

const (
	// MaxAttempts is the number of failed sign-ins per address, name and minute.
	MaxAttempts = 5
	rateWindow  = time.Minute
	// maxCounted bounds the addresses and names in memory. Each further one replaces another one: a limit that they shared would let
	// one client, which makes up names, refuse everybody.
	maxCounted = 10_000
)

// Attempts limits failed sign-ins per client address and name. Behind a proxy that is not named all users share one address: whoever
// fails there locks out one name, and nobody by signing in. It is safe for concurrent use.
type Attempts struct {
	clock clock.Clock

	mu    sync.Mutex
	since time.Time // Start of the current window.
	count map[attempt]int
}

// NewAttempts returns a limiter.
func NewAttempts(c clock.Clock) *Attempts {
	return &Attempts{clock: c, count: map[attempt]int{}}
}

// attempt is what is counted. IPv6 addresses count by their /64 network.
type attempt struct {
	from netip.Prefix // An unknown address is the zero prefix.
	name string
}

// maxName bounds the names in memory, in bytes.
const maxName = 64

func newAttempt(from netip.Addr, name string) attempt {
	from = from.Unmap()
	bits := from.BitLen()
	if from.Is6() {
		bits = 64
	}
	prefix, _ := from.Prefix(bits)
	return attempt{prefix, strings.Clone(name[:min(len(name), maxName)])}
}

// Allow counts an attempt as failed, so that many at once do not pass, and reports whether it may proceed. Succeeded takes it back.
func (a *Attempts) Allow(from netip.Addr, name string) bool {
	key := newAttempt(from, name)
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := a.clock.Now(); now.Sub(a.since) >= rateWindow {
		a.since = now
		clear(a.count)
	}
	if _, counted := a.count[key]; !counted && len(a.count) >= maxCounted {
		for other := range a.count {
			delete(a.count, other)
			break
		}
	}
	a.count[key]++
	return a.count[key] <= MaxAttempts
}

// Succeeded takes back the count of an attempt that signed in.
func (a *Attempts) Succeeded(from netip.Addr, name string) {
	key := newAttempt(from, name)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.count[key] > 0 {
		a.count[key]--
	}
}
