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

var (
	// errCredential means that the request carries no valid key of the webhook's service account.
	errCredential = errors.New("the request carries no valid key of the webhook's service account")
	// errNoRole means that the key is valid, but its service account may not enter the workspace.
	errNoRole = errors.New("the webhook's service account has no role in the workspace: grant it one (orch workspace grant)")
)

// authorize decides whether the request may post to the webhook. Errors: errCredential, errNoRole, or
// definitioncache.ErrUnavailable when it cannot decide. Before it refuses a key, the directory catches up: the key may be
// new.
func (d *delivery) authorize() error {
	if d.hook.ServiceAccountId == nil {
		return nil
	}
	if err := d.definitions.Current(); err != nil {
		return err
	}
	token, ok := auth.Bearer(d.r.Header)
	if !ok {
		return errCredential
	}
	err := d.checkKey(token)
	if err == nil || errors.Is(err, definitioncache.ErrUnavailable) || !auth.KeyShaped(token) ||
		!d.directory.CatchUp(context.WithoutCancel(d.r.Context())) {
		return err
	}
	return d.checkKey(token)
}

// checkKey checks that a token is a key of the webhook's service account, and that the account may enter the workspace.
func (d *delivery) checkKey(token string) error {
	caller, err := d.directory.Identify(token)
	if errors.Is(err, directory.ErrStale) {
		return fmt.Errorf("%w: %w", definitioncache.ErrUnavailable, err)
	}
	if err != nil || !caller.ServiceAccount || caller.ID != d.hook.GetServiceAccountId() || caller.Account != d.hook.GetAccount() {
		return errCredential
	}
	if scopes, _ := d.directory.WorkspaceScopes(caller, d.hook.GetAccount(), d.hook.GetWorkspace()); len(scopes) == 0 {
		return errNoRole
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
