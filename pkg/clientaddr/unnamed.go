package clientaddr

import (
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// unnamedEvery is the interval of the log lines about one peer.
	unnamedEvery = time.Hour
	// maxUnnamed bounds the peers that are logged in an interval, because any client can send the header.
	maxUnnamed = 100
)

// Unnamed reports requests with X-Forwarded-For from peers that are not trusted. If such a peer is a proxy, all of its clients count as
// one: they share rate limits, and allowlists do not apply to them. It is safe for concurrent use.
type Unnamed struct {
	trusted  Networks
	requests prometheus.Counter
	log      *slog.Logger

	mu     sync.Mutex
	since  time.Time // The beginning of the interval.
	logged map[netip.Addr]bool
}

// NewUnnamed returns a report to a log and to a counter of requests.
func NewUnnamed(trusted Networks, requests prometheus.Counter, log *slog.Logger) *Unnamed {
	return &Unnamed{trusted: trusted, requests: requests, log: log}
}

// NewUnnamedCounter returns the metric of such requests, which the caller registers.
func NewUnnamedCounter() prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{
		Name: "orch_unnamed_proxy_requests_total",
		Help: "Requests with X-Forwarded-For from peers that ORCH_TRUSTED_PROXIES does not name.",
	})
}

// Handler observes each request before next serves it.
func (u *Unnamed) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.observe(r)
		next.ServeHTTP(w, r)
	})
}

func (u *Unnamed) observe(r *http.Request) {
	if r.Header.Get("X-Forwarded-For") == "" {
		return
	}
	peer := Of(r)
	if u.trusted.Contain(peer) {
		return
	}
	u.requests.Inc()
	if u.due(peer, time.Now()) {
		u.log.WarnContext(r.Context(), "a peer that ORCH_TRUSTED_PROXIES does not name sends X-Forwarded-For: if it is a proxy, all of its clients count as one",
			"peer", peer.String())
	}
}

// due reports whether the peer is to be logged.
func (u *Unnamed) due(peer netip.Addr, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.logged == nil || now.Sub(u.since) >= unnamedEvery {
		u.since, u.logged = now, map[netip.Addr]bool{}
	}
	if u.logged[peer] || len(u.logged) >= maxUnnamed {
		return false
	}
	u.logged[peer] = true
	return true
}
