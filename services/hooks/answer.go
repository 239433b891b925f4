package hooks

import (
	"context"
	"errors"
	"io"
	"maps"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/verify"
	"github.com/orch-project/orch/services/hooks/internal/guard"
)

// retryAfter is the value of Retry-After, in seconds, while the broker is unreachable.
const retryAfter = "5"

// maskStatus returns the status that a sender sees. With UniformErrors every refusal is a 400. A 413 and a 429 stay: their senders would
// retry for ever.
func (h *Hooks) maskStatus(status int) int {
	if !h.cfg.UniformErrors || status == http.StatusRequestEntityTooLarge || status == http.StatusTooManyRequests {
		return status
	}
	return http.StatusBadRequest
}

// refuse responds with a status alone, whatever the cause.
func (d *delivery) refuse(status int) int {
	status = d.maskStatus(status)
	d.w.WriteHeader(status)
	return status
}

func (d *delivery) methodNotAllowed(allow string) int {
	if !d.cfg.UniformErrors {
		d.w.Header().Set("Allow", allow)
	}
	return d.refuse(http.StatusMethodNotAllowed)
}

// For how long, and how many bytes of, a body is read after a 413.
const (
	lingeringCloseTimeout = 2 * time.Second
	lingeringCloseBytes   = 64 << 20
)

// lingeringClose reads and drops the rest of a body after the response. Most senders read the response once they have sent
// everything. A sender that is cut off before takes that for an outage and retries.
func (d *delivery) lingeringClose() {
	if d.r.Header.Get("Expect") != "" {
		return // The sender asked before it sent.
	}
	connection := http.NewResponseController(d.w)
	if connection.Flush() != nil || connection.SetReadDeadline(time.Now().Add(lingeringCloseTimeout)) != nil {
		return // Not a network connection.
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(d.r.Body, lingeringCloseBytes)) // The sender has gone, or sends for too long.
}

// challenge responds 401 and names what is missing: a key of the service account, its role, or a signature.
func (d *delivery) challenge(err error) int {
	if !d.cfg.UniformErrors {
		challenge := "Bearer"
		switch {
		case errors.Is(err, verify.ErrUnproven):
			challenge = "Signature"
		case errors.Is(err, errNoRole): // The key is valid, so its holder may know what is missing (RFC 6750, section 3.1).
			challenge = `Bearer error="insufficient_scope", error_description="the service account has no role in the workspace"`
		}
		d.w.Header().Set("WWW-Authenticate", challenge)
	}
	return d.refuse(http.StatusUnauthorized)
}

// tooMany responds 429 with the time to wait, in whole seconds.
func (d *delivery) tooMany(e *guard.TooManyError) int {
	if e.Quota {
		d.metrics.quota.Inc()
	}
	wait := max(1, int(math.Ceil(e.Wait.Seconds())))
	d.w.Header().Set("Retry-After", strconv.Itoa(wait))
	return d.refuse(http.StatusTooManyRequests)
}

// unavailable responds 503, so the sender retries. The reason is for the operator. The log has the request of an unverified sender
// without its body, and groups such requests like refusals: strangers must not fill it.
func (d *delivery) unavailable(ctx context.Context, reason error) int {
	d.entry.Err = reason
	switch {
	case !d.verified:
		d.entry.Reason, d.entry.WithoutBody, d.entry.Refused = deliverylog.ReasonUnavailable, true, true
	case d.entry.Reason == "":
		d.entry.Reason = deliverylog.ReasonBroker
	}
	d.outage.Do(func() {
		d.log.WarnContext(ctx, "failed to serve webhooks", "webhook_id", d.hook.GetId(), "error", reason)
	})
	d.w.Header().Set("Retry-After", retryAfter)
	d.w.WriteHeader(http.StatusServiceUnavailable)
	return http.StatusServiceUnavailable
}

// respondHandshake responds to a handshake.
func (d *delivery) respondHandshake(answer *receive.Handshake) int {
	d.entry.Handshake = answer.Name
	maps.Copy(d.w.Header(), answer.Header)
	d.w.WriteHeader(http.StatusOK)
	_, _ = d.w.Write(answer.Body) // The sender has gone.
	return http.StatusOK
}
