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

	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/verify"
	"github.com/orch-project/orch/services/hooks/internal/guard"
)

// retryAfter is what senders are asked to wait, in seconds, when the broker is away.
const retryAfter = "5"

// quiet is the status that a sender gets to see. With StrictQuiet every refusal is a 400 that has no need to be told
// apart; a body that is too large and a sender that is too fast must know, or they would try for ever.
func (h *Hooks) quiet(status int) int {
	if !h.cfg.StrictQuiet || status == http.StatusRequestEntityTooLarge || status == http.StatusTooManyRequests {
		return status
	}
	return http.StatusBadRequest
}

// refuse answers with a status and nothing else, whatever the cause.
func (d *delivery) refuse(status int) int {
	status = d.quiet(status)
	d.w.WriteHeader(status)
	return status
}

func (d *delivery) methodNotAllowed(allow string) int {
	if !d.cfg.StrictQuiet {
		d.w.Header().Set("Allow", allow)
	}
	return d.refuse(http.StatusMethodNotAllowed)
}

// How long, and how much of, a body that is too large is read after the answer.
const (
	lingerTime  = 2 * time.Second
	lingerBytes = 64 << 20
)

// linger reads what still comes of a body whose sender has its answer, and forgets it: most senders look for the answer
// when they have sent all, and one that is cut off before would take it for an outage and send again.
func (d *delivery) linger() {
	if d.r.Header.Get("Expect") != "" {
		return // The sender asked before it sent.
	}
	connection := http.NewResponseController(d.w)
	if connection.Flush() != nil || connection.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return // What is no connection need not be waited for.
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(d.r.Body, lingerBytes)) // The sender has gone, or sends for too long.
}

// challenge asks for what was missing: the key of the service account, or a signature.
func (d *delivery) challenge(err error) int {
	if !d.cfg.StrictQuiet {
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

// tooMany asks the sender to wait, in whole seconds.
func (d *delivery) tooMany(e *guard.TooManyError) int {
	wait := max(1, int(math.Ceil(e.Wait.Seconds())))
	d.w.Header().Set("Retry-After", strconv.Itoa(wait))
	return d.refuse(http.StatusTooManyRequests)
}

// unavailable asks the sender to try again. The reason is for the operator.
func (d *delivery) unavailable(ctx context.Context, reason error) int {
	d.note.Err = reason
	d.outage.Do(func() {
		d.log.WarnContext(ctx, "webhooks cannot be served", "webhook_id", d.hook.GetId(), "error", reason)
	})
	d.w.Header().Set("Retry-After", retryAfter)
	d.w.WriteHeader(http.StatusServiceUnavailable)
	return http.StatusServiceUnavailable
}

// shake gives the answer to a handshake.
func (d *delivery) shake(answer *receive.Handshake) int {
	d.note.Handshake = answer.Name
	maps.Copy(d.w.Header(), answer.Header)
	d.w.WriteHeader(http.StatusOK)
	_, _ = d.w.Write(answer.Body) // The sender has gone.
	return http.StatusOK
}
