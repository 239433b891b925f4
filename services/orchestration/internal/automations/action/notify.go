package action

import (
	"context"
	"fmt"
	"net/http"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// notifier makes the requests of one notification.
type notifier func(b *block, subject, body string) ([]*message, error)

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
func (r *Runner) notify(ctx context.Context, o *result, run *orchv1.AutomationActionRun, action *orchv1.SendNotification) *result {
	b, ok := r.readBlock(ctx, o, run, action.GetBlockDocumentId())
	if !ok {
		return o
	}
	build, ok := notifiers[b.kind]
	if !ok {
		return o.fail("The referenced block was not a notification block")
	}
	subject, err := r.render(ctx, run, action.GetSubject())
	if err != nil {
		return r.templateFailed(o, "subject", err, err.Error(), action.GetSubject())
	}
	body, err := r.render(ctx, run, action.GetBody())
	if err != nil {
		return r.templateFailed(o, "body", err, err.Error(), action.GetBody())
	}
	messages, err := build(b, subject, body)
	if err != nil {
		o.details["notification_log"] = err.Error()
		return o.fail("Notification failed")
	}
	for _, m := range messages {
		answer, err := r.send(ctx, m)
		if err != nil {
			o.details["notification_log"] = err.Error()
			return unsent(o, "Notification failed: ", err)
		}
		if answer.status >= http.StatusBadRequest {
			shown := []rune(string(answer.body))
			o.details["notification_log"] = fmt.Sprintf("status %d: %s", answer.status, string(shown[:min(len(shown), maxShown)]))
			o.fail("Notification failed")
			o.transient = answer.status >= http.StatusInternalServerError || answer.status == http.StatusTooManyRequests
			return o
		}
	}
	return o
}
