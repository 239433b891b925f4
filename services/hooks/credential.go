package hooks

import (
	"context"
	"errors"

	"github.com/orch-project/orch/services/hooks/internal/catalog"
	"github.com/orch-project/orch/services/hooks/internal/publish"
)

// errCredential means that a request did not prove that it may post to the webhook.
var errCredential = errors.New("the request carries no valid key of the webhook's service account")

// authorize decides whether the request may post to the webhook: nil, errCredential, or catalog.ErrUnavailable when that
// cannot be told.
func (d *delivery) authorize() error {
	if d.hook.ServiceAccountId == nil {
		return nil
	}
	if err := d.catalog.Current(); err != nil {
		return err
	}
	// The catalogue does not carry the keys of service accounts yet, so no key can be checked. A webhook that asks for
	// one is closed until then: it must never be open.
	return errCredential
}

// unauthorized answers a request whose credential is not good, or cannot be judged. The webhook's owner is told once in
// a while, without the body, so that strangers cannot fill the store.
func (d *delivery) unauthorized(ctx context.Context, err error) int {
	if errors.Is(err, catalog.ErrUnavailable) {
		return d.unavailable(ctx, err)
	}
	if d.throttle.allow(d.hook.GetId()) {
		f := publish.Failure{Hook: d.hook, Request: d.request, Err: err, WithoutBody: true}
		if err := d.publisher.Publish(ctx, d.hook.GetWorkspace(), f.Event(d.cfg.Vocabulary, d.ids)); err != nil {
			d.log.WarnContext(ctx, "publishing a failure event", "webhook_id", d.hook.GetId(), "error", err)
		}
	}
	return d.challenge()
}
