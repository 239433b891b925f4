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
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/hooks/internal/deliveries"
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

// decision is how a delivery ends: the response to its sender, and the outcome for the webhook's owner.
type decision struct {
	status  int
	header  http.Header // Nil if it is empty.
	body    []byte
	outcome deliveries.Outcome
}

// setHeader sets a field of the response's header.
func (d *decision) setHeader(name, value string) {
	if d.header == nil {
		d.header = http.Header{}
	}
	d.header.Set(name, value)
}

// respond writes the response.
func (d *decision) respond(w http.ResponseWriter) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	maps.Copy(w.Header(), d.header)
	w.WriteHeader(d.status)
	if len(d.body) > 0 {
		_, _ = w.Write(d.body) // The sender has gone.
	}
}

// refuse returns the decision to respond with a status, for any cause.
func (h *Hooks) refuse(status int) decision { return decision{status: h.maskStatus(status)} }

func (h *Hooks) methodNotAllowed(allow string) decision {
	end := h.refuse(http.StatusMethodNotAllowed)
	if !h.cfg.UniformErrors {
		end.setHeader("Allow", allow)
	}
	return end
}

// For how long, and how many bytes of, a body is read after a 413.
const (
	lingeringCloseTimeout = 2 * time.Second
	lingeringCloseBytes   = 64 << 20
)

// lingeringClose reads and drops the rest of a body after the response. Most senders read the response once they have sent
// everything. A sender that is cut off before takes that for an outage and retries.
func lingeringClose(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Expect") != "" {
		return // The sender asked before it sent.
	}
	connection := http.NewResponseController(w)
	if connection.Flush() != nil || connection.SetReadDeadline(time.Now().Add(lingeringCloseTimeout)) != nil {
		return // Not a network connection.
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, lingeringCloseBytes)) // The sender has gone, or sends for too long.
}

// challenge decides for a 401 that names what is missing: a key of the service account, its role, or a signature.
func (d *delivery) challenge(err error) decision {
	end := d.refuse(http.StatusUnauthorized)
	if !d.cfg.UniformErrors {
		challenge := "Bearer"
		switch {
		case errors.Is(err, verify.ErrUnproven) && d.hook.GetVerification().GetScheme() == orchv1.WebhookScheme_WEBHOOK_SCHEME_BASIC:
			challenge = `Basic realm="webhook", charset="UTF-8"`
		case errors.Is(err, verify.ErrUnproven):
			challenge = "Signature"
		case errors.Is(err, errNoRole): // The key is valid, so its holder may know what is missing (RFC 6750, section 3.1).
			challenge = `Bearer error="insufficient_scope", error_description="the service account has no role in the workspace"`
		}
		end.setHeader("WWW-Authenticate", challenge)
	}
	return end
}

// tooMany decides for a 429 with the time to wait, in whole seconds.
func (h *Hooks) tooMany(e *guard.TooManyError) decision {
	if e.Quota {
		h.metrics.quota.Inc()
	}
	end := h.refuse(http.StatusTooManyRequests)
	end.setHeader("Retry-After", strconv.Itoa(max(1, int(math.Ceil(e.Wait.Seconds())))))
	return end
}

// unavailable decides for a 503, so the sender retries. The error and the class of its reason are for the owner. The log has the request of
// an unverified sender without its body, and groups such requests like refusals: strangers must not fill it.
func (d *delivery) unavailable(ctx context.Context, reason string, err error) decision {
	d.outage.Do(func() {
		d.log.WarnContext(ctx, "failed to serve webhooks", "webhook_id", d.hook.GetId(), "error", err)
	})
	end := decision{status: http.StatusServiceUnavailable, outcome: deliveries.Outcome{Err: err, Reason: reason}}
	if !d.verified {
		end.outcome.Reason, end.outcome.WithoutBody, end.outcome.Refused = deliverylog.ReasonUnavailable, true, true
	}
	end.setHeader("Retry-After", retryAfter)
	return end
}

// handshake decides for the response to a handshake.
func handshake(answer *receive.Handshake) decision {
	return decision{
		status: http.StatusOK, header: answer.Header, body: answer.Body, outcome: deliveries.Outcome{Handshake: answer.Name},
	}
}
