package quota

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/orch-project/orch/pkg/ratelimit"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Account returns the quota of events that the operator has set for an account; false if there is none.
type Account interface {
	EventsPerSecond(account string) (limit int64, own bool)
}

// EventBucket returns the token bucket of an account's quota of events in a second; nil for 0, which is no quota. All services that accept
// events share it.
func EventBucket(rates *ratelimit.Limiter, account string, perSecond int64) *ratelimit.Bucket {
	if perSecond <= 0 {
		return nil
	}
	return rates.Bucket("events."+cmp.Or(account, uuid.Nil.String()), ratelimit.Limit{Tokens: int(perSecond), Per: time.Second, Burst: int(perSecond)})
}

// EventLimiter bounds the events of each account. It is safe for concurrent use.
type EventLimiter struct {
	settings Events
	accounts Account
	rates    *ratelimit.Limiter
	refused  prometheus.Counter
}

// NewEventLimiter returns a limiter. accounts may be nil, which means that no account has a quota of its own.
func NewEventLimiter(settings Events, accounts Account, rates *ratelimit.Limiter, registry prometheus.Registerer) *EventLimiter {
	return &EventLimiter{
		settings: settings, accounts: accounts, rates: rates,
		refused: NewRefusals(registry).WithLabelValues(string(EventsPerSecond)),
	}
}

// limit returns the quota of an account; 0 means none.
func (l *EventLimiter) limit(account string) int64 {
	if l.accounts != nil {
		if own, ok := l.accounts.EventsPerSecond(account); ok {
			return own
		}
	}
	return l.settings.PerSecond
}

// Wait returns how long an event of an account must wait; 0 means that it is counted. Refused events count nowhere. A nil limiter
// counts everything. The error says that the shared rates are unavailable.
func (l *EventLimiter) Wait(ctx context.Context, account string) (time.Duration, error) {
	if l == nil {
		return 0, nil
	}
	full, wait, err := ratelimit.Take(ctx, 1, EventBucket(l.rates, account, l.limit(account)))
	if full != nil {
		l.refused.Inc()
	}
	return wait, err
}

// Admit counts a batch of events of an account, or returns the response to it: 429, 422 for a batch that never fits, or 503 if the shared
// rates are unavailable.
func (l *EventLimiter) Admit(ctx context.Context, account string, events int) error {
	limit := l.limit(account)
	if limit <= 0 || events == 0 {
		return nil
	}
	if int64(events) > limit {
		l.refused.Inc()
		return rpc.Detail(http.StatusUnprocessableEntity, fmt.Sprintf(
			"The account's quota of %s is %d: a request with %d events exceeds it, so send fewer at once.", EventsPerSecond, limit, events))
	}
	full, wait, err := ratelimit.Take(ctx, events, EventBucket(l.rates, account, limit))
	if err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
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
