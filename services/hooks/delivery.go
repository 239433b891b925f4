package hooks

import (
	"context"
	"errors"
	"net/http"

	"github.com/orch-project/orch/pkg/webhook/receive"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/hooks/internal/catalog"
	"github.com/orch-project/orch/services/hooks/internal/publish"
)

// errTooLarge is what the owner of a webhook is told about a body that exceeds the limit.
var errTooLarge = errors.New("the body is too large")

// delivery is one request on its way. It belongs to one goroutine.
type delivery struct {
	*Hooks
	w    http.ResponseWriter
	r    *http.Request
	slug string
	rest string

	hook    *orchv1.WebhookDefinition // Nil until it is found.
	request *receive.Request
}

// run takes the steps in their order until one of them answers, and returns the status.
func (d *delivery) run() int {
	if ok, allow := receive.Allowed(d.r); !ok {
		return d.methodNotAllowed(allow)
	}
	// Once it is here a request is dealt with, also when its sender hangs up: every step has a limit of its own.
	ctx := context.WithoutCancel(d.r.Context())
	var err error
	switch d.hook, err = d.catalog.Find(ctx, d.slug); {
	case errors.Is(err, catalog.ErrNotFound):
		d.metrics.notFound(d.catalog.Disabled(d.slug))
		return d.refuse(http.StatusNotFound)
	case err != nil:
		return d.unavailable(ctx, err)
	}
	d.request = receive.New(d.r, d.slug, d.rest, d.clock.Now())
	if !d.request.ClaimsHandshake() {
		if err := d.authorize(); err != nil {
			return d.unauthorized(ctx, err)
		}
	}
	if err := d.request.ReadBody(d.r, d.cfg.MaxBody); err != nil {
		return d.fail(ctx, http.StatusBadRequest, publish.Failure{Err: err})
	}
	if d.request.TooLarge {
		d.w.Header().Set("Connection", "close") // The rest of the body is not waited for.
		return d.fail(ctx, http.StatusRequestEntityTooLarge, publish.Failure{Err: errTooLarge})
	}
	if d.request.ClaimsHandshake() {
		// A handshake needs no credential: its answer tells the sender what the sender has told.
		if answer := d.request.Handshake(); answer != nil {
			return d.shake(answer)
		}
		if err := d.authorize(); err != nil {
			return d.unauthorized(ctx, err)
		}
	}
	return d.ingest(ctx)
}

// ingest makes the event and publishes it.
func (d *delivery) ingest(ctx context.Context) int {
	body := d.request.Body()
	text, err := d.renderer.Render(ctx, d.hook.GetTemplate(), d.request, body)
	if err != nil {
		return d.fail(ctx, http.StatusBadRequest, publish.Failure{Err: err})
	}
	event, err := d.renderer.Event(text, d.hook, d.request, body)
	if err == nil {
		err = d.publisher.Publish(ctx, d.hook.GetWorkspace(), event)
	}
	switch {
	case err == nil:
		d.w.WriteHeader(http.StatusNoContent)
		return http.StatusNoContent
	case errors.Is(err, publish.ErrUnavailable):
		return d.unavailable(ctx, err)
	}
	return d.fail(ctx, http.StatusBadRequest, publish.Failure{Rendered: &text, Err: err})
}

// fail tells the webhook's owner what went wrong, and the sender only that something did. When the owner cannot be told
// the sender must try again: the request would be lost without a trace.
func (d *delivery) fail(ctx context.Context, status int, f publish.Failure) int {
	f.Hook, f.Request = d.hook, d.request
	err := d.publisher.Publish(ctx, d.hook.GetWorkspace(), f.Event(d.cfg.Vocabulary, d.ids))
	if errors.Is(err, publish.ErrUnavailable) {
		return d.unavailable(ctx, err)
	}
	if err != nil {
		d.log.ErrorContext(ctx, "publishing a failure event", "webhook_id", d.hook.GetId(), "error", err)
	}
	return d.refuse(status)
}
