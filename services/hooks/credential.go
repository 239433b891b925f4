package hooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/orch-project/orch/pkg/auth"
	"github.com/orch-project/orch/pkg/directory"
	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/verify"
	"github.com/orch-project/orch/services/hooks/internal/definitioncache"
	"github.com/orch-project/orch/services/hooks/internal/deliveries"
	"github.com/orch-project/orch/services/hooks/internal/guard"
	"github.com/orch-project/orch/services/hooks/internal/publish"
)

var (
	// errCredential means that the request carries no valid key of the webhook's service account.
	errCredential = errors.New("the request carries no valid key of the webhook's service account")
	// errNoRole means that the key is valid, but its service account may not enter the workspace.
	errNoRole = errors.New("the webhook's service account has no role in the workspace: grant it one (orch workspace grant)")
)

// authorize decides whether the request may post to the webhook. Errors: receive.ErrMethod, errCredential, errNoRole, or
// definitioncache.ErrUnavailable when it cannot decide. Before it refuses a key, the directory catches up: the key may be
// new.
func (d *delivery) authorize() error {
	if err := receive.CheckMethod(d.hook.GetMethods(), d.r.Method); err != nil {
		return err
	}
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

// unauthorized responds to a request whose method, credential or signature is invalid, or cannot be checked.
func (d *delivery) unauthorized(ctx context.Context, err error) decision {
	if errors.Is(err, definitioncache.ErrUnavailable) || errors.Is(err, verify.ErrUnavailable) {
		return d.unavailable(ctx, deliverylog.ReasonBroker, err)
	}
	if errors.Is(err, receive.ErrMethod) {
		return d.refused(ctx, err, d.methodNotAllowed(receive.Allow(d.hook.GetMethods())))
	}
	return d.refused(ctx, err, d.challenge(err))
}

// notAdmitted responds to a request that the address list or the rate limit refuses, whoever sent it.
func (d *delivery) notAdmitted(ctx context.Context, err error) decision {
	if errors.Is(err, guard.ErrForbidden) {
		return d.refused(ctx, err, d.refuse(http.StatusForbidden))
	}
	if many, ok := errors.AsType[*guard.TooManyError](err); ok {
		return d.refused(ctx, err, d.tooMany(many))
	}
	return d.unavailable(ctx, deliverylog.ReasonBroker, err)
}

// refusalReason is the class of a refusal, for the delivery log and the metrics.
func refusalReason(err error) string {
	switch {
	case errors.Is(err, receive.ErrMethod):
		return deliverylog.ReasonMethod
	case errors.Is(err, errNoRole):
		return deliverylog.ReasonRole
	case errors.Is(err, errCredential):
		return deliverylog.ReasonCredential
	case errors.Is(err, verify.ErrUnproven):
		return deliverylog.ReasonSignature
	case errors.Is(err, guard.ErrForbidden):
		return deliverylog.ReasonAddress
	case errors.Is(err, receive.ErrBody), errors.Is(err, receive.ErrUnsupported), errors.Is(err, receive.ErrTooManyValues), errors.Is(err, errTooLarge):
		return deliverylog.ReasonBody
	}
	return deliverylog.ReasonRate
}

// refused counts a refusal and returns it with its outcome, without the body: strangers must not fill the store. The webhook's owner gets
// one failure event an interval for each reason.
func (d *delivery) refused(ctx context.Context, err error, refusal decision) decision {
	reason := refusalReason(err)
	d.metrics.refusals.WithLabelValues(reason).Inc()
	refusal.outcome = deliveries.Outcome{Err: err, WithoutBody: true, Reason: reason, Refused: true}
	if !d.throttle.allow(d.hook.GetId() + " " + reason) {
		return refusal
	}
	d.memory.ReleaseProcessor() // Publishing waits.
	f := publish.Failure{Hook: d.hook, Request: d.request, Err: err, WithoutBody: true}
	if err := d.publisher.Publish(ctx, d.hook.GetWorkspace(), f.Event(d.cfg.Vocabulary, d.ids)); err != nil {
		d.log.WarnContext(ctx, "failed to publish the event of a failure", "webhook_id", d.hook.GetId(), "error", err)
	}
	return refusal
}
