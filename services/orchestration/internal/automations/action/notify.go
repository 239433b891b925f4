package action

import (
	"context"
	"errors"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/engine"
	"github.com/orch-project/orch/services/orchestration/internal/egress"
)

// notifier makes the requests of one notification.
type notifier func(b *block, subject, body string) ([]*egress.Message, error)

// notifiers are the notification blocks, by the slugs of their types.
var notifiers = map[string]notifier{
	"slack-webhook":      slack,
	"mattermost-webhook": mattermost,
	"ms-teams-webhook":   teams,
	"discord-webhook":    discord,
	"pager-duty-webhook": pagerDuty,
	"opsgenie-webhook":   opsgenie,
	"sendgrid-email":     sendgrid,
	"twilio-sms":         twilio,
	"custom-webhook":     custom,
}

// notify sends a message by a notification block.
func (r *Runner) notify(ctx context.Context, o *result, ws uuid.UUID, run *orchv1.AutomationActionRun, action *orchv1.SendNotification) *result {
	b, ok := r.readBlock(ctx, o, engine.ActionType(run.GetAction()), action.GetBlockDocumentId())
	if !ok {
		return o
	}
	if notifiers[b.kind] == nil {
		return o.fail("The referenced block was not a notification block")
	}
	r.relateBlock(o, b)
	subject, body, ok := r.subjectAndBody(ctx, o, run, action.GetSubject(), action.GetBody())
	if !ok {
		return o
	}
	return r.queue(ctx, o, ws, run, b, subject, body)
}

// messages makes the requests of a call or a notification by the block, one for each receiver.
func (b *block) messages(subject, body string) ([]*egress.Message, error) {
	build := notifiers[b.kind]
	if b.kind == webhookBlock {
		build = call
	}
	if build == nil {
		return nil, errors.New("its type has no receivers")
	}
	messages, err := build(b, subject, body)
	if err == nil && len(messages) == 0 {
		err = errIncomplete
	}
	for _, m := range messages {
		if err := egress.CheckAddress(m.URL); err != nil {
			return nil, err
		}
		m.PublicOnly = b.refusesPrivate()
	}
	return messages, err
}

// subjectAndBody renders the templates of a notification, or says in the result why it cannot.
func (r *Runner) subjectAndBody(
	ctx context.Context, o *result, run *orchv1.AutomationActionRun, subjectTemplate, bodyTemplate string,
) (subject, body string, ok bool) {
	subject, err := r.render(ctx, run, subjectTemplate)
	if err != nil {
		r.templateFailed(o, err, err.Error(), subjectTemplate)
		return "", "", false
	}
	body, err = r.render(ctx, run, bodyTemplate)
	if err != nil {
		r.templateFailed(o, err, err.Error(), bodyTemplate)
		return "", "", false
	}
	return subject, body, true
}
