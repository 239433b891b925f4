package quota

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/ratewindow"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Account returns the quota of events that the operator has set for an account; false if there is none.
type Account interface {
	EventsPerSecond(account string) (limit int64, own bool)
}

// EventLimiter bounds the events of each account that one process accepts. It is safe for concurrent use.
type EventLimiter struct {
	settings Events
	accounts Account
	clock    clock.Clock
	refused  prometheus.Counter

	mu      sync.Mutex
	windows map[string]*ratewindow.Window // Of the accounts with a quota that have sent events.
}

// NewEventLimiter returns a limiter. accounts may be nil, which means that no account has a quota of its own.
func NewEventLimiter(settings Events, accounts Account, c clock.Clock, registry prometheus.Registerer) *EventLimiter {
	return &EventLimiter{
		settings: settings, accounts: accounts, clock: c, windows: map[string]*ratewindow.Window{},
		refused: NewRefusals(registry).WithLabelValues(string(EventsPerSecond)),
	}
}

// limit returns the quota of an account; 0 means none.
func (l *EventLimiter) limit(account string) int {
	if l.accounts != nil {
		if own, ok := l.accounts.EventsPerSecond(account); ok {
			return int(own)
		}
	}
	return int(l.settings.PerSecond)
}

// window returns the window of a quota, which counts on if the quota is the same.
func (l *EventLimiter) window(account string, limit int) *ratewindow.Window {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.windows[account]
	if !w.Is(limit, time.Second) {
		w = ratewindow.New(limit, time.Second)
		l.windows[account] = w
	}
	return w
}

// Wait returns how long an event of an account must wait; 0 means that it is counted. Refused events count nowhere. A nil limiter
// counts everything.
func (l *EventLimiter) Wait(account string) time.Duration {
	if l == nil {
		return 0
	}
	limit := l.limit(account)
	if limit <= 0 {
		return 0
	}
	full, wait := ratewindow.Take(l.clock.Now(), 1, l.window(account, limit))
	if full != nil {
		l.refused.Inc()
	}
	return wait
}

// Admit counts a batch of events of an account, or returns the response to it: 429, or 422 for a batch that never fits.
func (l *EventLimiter) Admit(account string, events int) error {
	limit := l.limit(account)
	if limit <= 0 || events == 0 {
		return nil
	}
	if events > limit {
		l.refused.Inc()
		return rpc.Detail(http.StatusUnprocessableEntity, fmt.Sprintf(
			"The account's quota of %s is %d: a request with %d events exceeds it, so send fewer at once.", EventsPerSecond, limit, events))
	}
	full, wait := ratewindow.Take(l.clock.Now(), events, l.window(account, limit))
	if full == nil {
		return nil
	}
	l.refused.Inc()
	return rpc.Error(&orchv1.HttpError{
		Status:  http.StatusTooManyRequests,
		Form:    &orchv1.HttpError_Detail{Detail: fmt.Sprintf("The account's quota of %s is %d: try again later.", EventsPerSecond, limit)},
		Headers: map[string]string{"Retry-After": strconv.Itoa(max(1, int(math.Ceil(wait.Seconds()))))},
	})
}
