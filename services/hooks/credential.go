package hooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/orch-project/orch/pkg/auth"
	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/services/hooks/internal/definitioncache"
	"github.com/orch-project/orch/services/hooks/internal/guard"
	"github.com/orch-project/orch/services/hooks/internal/publish"
)

// errCredential means that a request did not prove that it may post to the webhook.
var errCredential = errors.New("the request carries no valid key of the webhook's service account")

// authorize decides whether the request may post to the webhook: nil, errCredential, or definitioncache.ErrUnavailable when that
// cannot be told. Before a key is refused the directory catches up: it may have been made a moment ago.
func (d *delivery) authorize() error {
	if d.hook.ServiceAccountId == nil {
		return nil
	}
	if err := d.definitions.Current(); err != nil {
		return err
	}
	token, _ := auth.Bearer(d.r.Header)
	err := d.judge(token)
	if !errors.Is(err, errCredential) || !auth.KeyShaped(token) || !d.known.CatchUp(context.WithoutCancel(d.r.Context())) {
		return err
	}
	return d.judge(token)
}

// judge tells whether a token is a key of the webhook's service account, and the service account may enter the
// webhook's workspace.
func (d *delivery) judge(token string) error {
	caller, err := d.known.Identify(token)
	if errors.Is(err, directory.ErrStale) {
		return fmt.Errorf("%w: %w", definitioncache.ErrUnavailable, err)
	}
	if err != nil || !caller.ServiceAccount || caller.ID != d.hook.GetServiceAccountId() || caller.Account != d.hook.GetAccount() {
		return errCredential
	}
	if scopes, _ := d.known.WorkspaceScopes(caller, d.hook.GetAccount(), d.hook.GetWorkspace()); len(scopes) == 0 {
		return errCredential
	}
	return nil
}

// unauthorized answers a request whose credential or signature is not good, or cannot be judged.
func (d *delivery) unauthorized(ctx context.Context, err error) int {
	if errors.Is(err, definitioncache.ErrUnavailable) {
		return d.unavailable(ctx, err)
	}
	d.tellOwner(ctx, err)
	return d.challenge(err)
}

// turnAway answers a request that is not admitted, whoever sent it.
func (d *delivery) turnAway(ctx context.Context, err error) int {
	if errors.Is(err, guard.ErrForbidden) {
		d.tellOwner(ctx, err)
		return d.refuse(http.StatusForbidden)
	}
	if many, ok := errors.AsType[*guard.TooManyError](err); ok {
		d.tellOwner(ctx, err)
		return d.tooMany(many)
	}
	return d.unavailable(ctx, err)
}

// tellOwner tells the webhook's owner once in a while that a request was refused, without its body: strangers must not
// fill the store. The delivery log is told as often.
func (d *delivery) tellOwner(ctx context.Context, err error) {
	d.note.Err, d.note.WithoutBody = err, true
	if d.silent = !d.throttle.allow(d.hook.GetId()); d.silent {
		return
	}
	f := publish.Failure{Hook: d.hook, Request: d.request, Err: err, WithoutBody: true}
	if err := d.publisher.Publish(ctx, d.hook.GetWorkspace(), f.Event(d.cfg.Vocabulary, d.ids)); err != nil {
		d.log.WarnContext(ctx, "publishing a failure event", "webhook_id", d.hook.GetId(), "error", err)
	}
}
