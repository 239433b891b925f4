package hooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/tracing"
	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/render"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/hooks/internal/definitioncache"
	"github.com/orch-project/orch/services/hooks/internal/deliveries"
	"github.com/orch-project/orch/services/hooks/internal/guard"
	"github.com/orch-project/orch/services/hooks/internal/publish"
)

// errTooLarge is the cause of a 413, for the webhook's owner.
var errTooLarge = errors.New("the body is too large")

// delivery is one request in progress. It belongs to one goroutine.
type delivery struct {
	*Hooks
	r    *http.Request
	slug string
	rest string

	hook    *orchv1.WebhookDefinition // Nil until it is found.
	guard   *guard.Guard
	from    netip.Addr
	request *receive.Request
	memory  *admission.Reservation // The memory of Hooks.admission that the request uses.
	// variables are those of the filter, the template and the response; nil until one of them needs them.
	variables *render.Variables

	verified bool // The request passed every check of its sender.
}

// run executes the steps in order until one of them decides.
func (d *delivery) run() decision {
	if ok, allow := receive.Allowed(d.r); !ok {
		return d.methodNotAllowed(allow)
	}
	// A received request is processed although its sender hangs up: every step has a limit of its own.
	ctx := context.WithoutCancel(d.r.Context())
	var err error
	switch d.hook, err = d.definitions.Find(ctx, d.slug); {
	case errors.Is(err, definitioncache.ErrNotFound):
		d.metrics.notFound(d.definitions.Disabled(d.slug))
		return d.refuse(http.StatusNotFound)
	case err != nil:
		return d.unavailable(ctx, deliverylog.ReasonBroker, err)
	}
	d.guard, d.from = d.guards.Of(d.hook), d.proxies.Client(d.r)
	d.memory = d.admission.Open(d.hook.GetAccount(), d.admissionKey())
	defer d.memory.Close()
	d.request = receive.New(d.r, d.slug, d.rest, d.clock.Now())
	d.request.Secrets, d.request.CredentialHeaders = d.guard.Secrets(), d.guard.CredentialHeaders()
	if err := d.guards.Admit(ctx, d.guard, d.definitions.Account(d.hook.GetAccount()), d.from); err != nil {
		return d.notAdmitted(ctx, err)
	}
	if answer := d.request.HeaderHandshake(d.guard.Handshakes()); answer != nil {
		return handshake(answer)
	}
	if !d.request.ClaimsHandshake() {
		if err := cmp.Or(d.authorize(), d.guard.VerifyHeader(d.request)); err != nil {
			return d.unauthorized(ctx, err)
		}
	}
	if err := d.request.ReadBody(d.r, d.cfg.MaxBody, d.memory); err != nil {
		return d.unreadable(ctx, err)
	}
	if d.request.TooLarge {
		end := d.unreadable(ctx, fmt.Errorf("%w: it exceeds ORCH_HOOKS_MAX_BODY, %d bytes", errTooLarge, d.cfg.MaxBody))
		end.setHeader("Connection", "close") // See lingeringClose.
		end.setHeader("Content-Length", "0")
		return end
	}
	if d.request.ClaimsHandshake() {
		// A handshake needs no credential: its response only echoes the request.
		if answer := d.request.Handshake(); answer != nil {
			return handshake(answer)
		}
		if err := d.authorize(); err != nil {
			return d.unauthorized(ctx, err)
		}
	}
	if d.guard.VerifyWaits() {
		d.memory.ReleaseProcessor()
	}
	proof, err := d.guard.Verify(ctx, d.request)
	if err != nil {
		return d.unauthorized(ctx, err)
	}
	d.verified = true
	if err := d.acquireProcessor(ctx); err != nil {
		return d.overloaded(ctx, err)
	}
	if err := d.memory.Charge(d.request.Parsed()); err != nil {
		return d.overloaded(ctx, err)
	}
	if proof != nil && proof.ConfirmURL != "" && d.guard.Confirms() {
		return d.confirm(ctx, d.guard.EventID(proof, d.request), proof.ConfirmURL)
	}
	if answer := d.request.BodyHandshake(d.guard.Handshakes()); answer != nil {
		return handshake(answer)
	}
	id := d.guard.EventID(proof, d.request)
	end := d.ingest(ctx, id)
	end.outcome.DeduplicationID = id
	if end.status == http.StatusNoContent && d.hook.Response != nil {
		d.setResponse(ctx, &end)
	}
	return end
}

// acquireProcessor waits for a processor if the body is large.
func (d *delivery) acquireProcessor(ctx context.Context) error {
	if len(d.request.Raw) <= admission.LargeBody {
		return nil
	}
	return d.memory.AcquireProcessor(ctx, len(d.request.Raw))
}

// admissionKey returns whose work the body is. Until a signature is verified, it is that of the network that it came from.
func (d *delivery) admissionKey() admission.Key {
	if d.guard.Signed() {
		return admission.Network(d.from)
	}
	ws, err := uuid.Parse(d.hook.GetWorkspace())
	if err != nil {
		return admission.Network(d.from) // Definitions have valid ids.
	}
	return admission.Workspace(ws)
}

// ingest renders the event and publishes it. The id is the event's, also of duplicate deliveries; uuid.Nil when duplicates
// cannot be recognised.
func (d *delivery) ingest(ctx context.Context, id uuid.UUID) decision {
	if id != uuid.Nil && d.duplicates.Published(id) {
		return d.duplicate(id)
	}
	body := d.request.Body()
	d.variables = render.NewVariables(d.request, body)
	if matches, err := d.renderer.Match(ctx, d.hook, d.variables, d.memory); !matches {
		return d.unmatched(ctx, err)
	}
	_, span := tracing.Start(ctx, "render")
	text, err := d.renderer.RenderFor(ctx, d.hook, d.variables, d.memory)
	if errors.Is(err, admission.ErrExhausted) {
		tracing.End(span, err)
		return d.overloaded(ctx, err)
	}
	if err != nil {
		tracing.End(span, err)
		return d.fail(ctx, http.StatusBadRequest, deliverylog.ReasonTemplate, publish.Failure{Err: err})
	}
	memory := d.events.Get().(*render.EventMemory)
	defer func() {
		if memory.Clear() {
			d.events.Put(memory) // The publisher has its own copy of the event.
		}
	}()
	list, err := d.renderer.EventsIn(memory, text, d.hook, d.request, body, id)
	tracing.End(span, err)
	if err != nil {
		return d.fail(ctx, http.StatusBadRequest, deliverylog.ReasonEvent, publish.Failure{Rendered: &text, Err: err})
	}
	if len(list) == 0 {
		return d.unmatched(ctx, nil)
	}
	if err := d.guards.AdmitEvents(ctx, d.guard, d.definitions.Account(d.hook.GetAccount()), len(list)); err != nil {
		return d.notAdmitted(ctx, err)
	}
	d.memory.ReleaseProcessor() // The events are small, and publishing waits.
	send := func() error { return d.publisher.Publish(ctx, d.hook.GetWorkspace(), list...) }
	duplicate := false
	if id == uuid.Nil {
		err = send()
	} else {
		waiting, cancel := context.WithTimeout(ctx, d.cfg.AckTimeout)
		defer cancel()
		duplicate, err = d.duplicates.Do(waiting, id, send)
	}
	switch {
	case err == nil && duplicate:
		return d.duplicate(id)
	case err == nil:
		return decision{status: http.StatusNoContent, outcome: published(list)}
	case errors.Is(err, publish.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return d.unavailable(ctx, deliverylog.ReasonBroker, err)
	}
	return d.fail(ctx, http.StatusBadRequest, deliverylog.ReasonEvent, publish.Failure{Rendered: &text, Err: err})
}

// published is the outcome of a request whose events are stored.
func published(list []*orchv1.ReceivedEvent) deliveries.Outcome {
	out := deliveries.Outcome{Event: list[0].GetEvent(), EventID: list[0].GetId()}
	if len(list) > 1 {
		for _, event := range list {
			out.EventIDs = append(out.EventIDs, event.GetId())
		}
	}
	return out
}

// unmatched decides about a request that the filter, or an empty list of the template, drops, or for which the filter failed. The webhook's owner chooses whether a failing filter
// is a failure.
func (d *delivery) unmatched(ctx context.Context, err error) decision {
	switch {
	case errors.Is(err, admission.ErrExhausted):
		return d.overloaded(ctx, err)
	case err != nil && d.hook.GetFilterError() != orchv1.WebhookFilterError_WEBHOOK_FILTER_ERROR_FILTERED:
		return d.fail(ctx, http.StatusBadRequest, deliverylog.ReasonFilter, publish.Failure{Err: err})
	}
	d.metrics.filtered.Inc()
	return decision{status: http.StatusNoContent, outcome: deliveries.Outcome{Err: err, Reason: deliverylog.ReasonFiltered}}
}

// unreadable decides about a request whose body cannot be read. While its sender is not verified, the request is logged like a
// refusal: strangers must not fill the store with bodies.
func (d *delivery) unreadable(ctx context.Context, err error) decision {
	status := http.StatusBadRequest
	switch {
	case errors.Is(err, admission.ErrExhausted):
		return d.overloaded(ctx, err)
	case errors.Is(err, receive.ErrUnsupported):
		status = http.StatusUnsupportedMediaType
	case errors.Is(err, errTooLarge), errors.Is(err, receive.ErrTooManyValues):
		status = http.StatusRequestEntityTooLarge
	}
	if d.guard.Signed() || d.hook.ServiceAccountId != nil && d.request.ClaimsHandshake() {
		return d.refused(ctx, err, d.refuse(status))
	}
	return d.fail(ctx, status, deliverylog.ReasonBody, publish.Failure{Err: err})
}

// overloaded decides for a 503 because the service, or the account, has no memory left.
func (d *delivery) overloaded(ctx context.Context, err error) decision {
	d.metrics.overloads.Inc()
	return d.unavailable(ctx, deliverylog.ReasonOverload, err)
}

// duplicate decides about a delivery whose event was published before.
func (d *delivery) duplicate(id uuid.UUID) decision {
	d.metrics.duplicates.Inc()
	return decision{status: http.StatusNoContent, outcome: deliveries.Outcome{Duplicate: true, EventID: id.String()}}
}

// fail publishes a failure event for the webhook's owner and decides for the status alone. When the event cannot be
// published the sender must retry: the request would be lost without a trace.
func (d *delivery) fail(ctx context.Context, status int, reason string, f publish.Failure) decision {
	d.memory.ReleaseProcessor() // Publishing waits.
	f.Hook, f.Request = d.hook, d.request
	err := d.publisher.Publish(ctx, d.hook.GetWorkspace(), f.Event(d.cfg.Vocabulary, d.ids))
	if errors.Is(err, publish.ErrUnavailable) {
		end := d.unavailable(ctx, reason, err)
		end.outcome.Rendered = f.Rendered
		return end
	}
	if err != nil {
		d.log.ErrorContext(ctx, "failed to publish the event of a failure", "webhook_id", d.hook.GetId(), "error", err)
	}
	end := d.refuse(status)
	end.outcome = deliveries.Outcome{Err: f.Err, Rendered: f.Rendered, Reason: reason}
	return end
}
