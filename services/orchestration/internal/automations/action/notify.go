package action

import (
	"context"
	"fmt"
	"net/http"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
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
func (r *Runner) notify(ctx context.Context, o *result, run *orchv1.AutomationActionRun, action *orchv1.SendNotification) *result {
	b, ok := r.readBlock(ctx, o, run, action.GetBlockDocumentId())
	if !ok {
		return o
	}
	build, ok := notifiers[b.kind]
	if !ok {
		return o.fail("The referenced block was not a notification block")
	}
	r.relateBlock(o, b)
	subject, body, ok := r.subjectAndBody(ctx, o, run, action.GetSubject(), action.GetBody())
	if !ok {
		return o
	}
	messages, err := build(b, subject, body)
	if err != nil {
		o.details["notification_log"] = err.Error()
		return o.fail("Notification failed")
	}
	for _, m := range messages {
		m.PublicOnly = b.refusesPrivate()
		response, err := r.client.Send(ctx, m)
		if err != nil {
			o.details["notification_log"] = err.Error()
			return unsent(o, "Notification failed: ", err)
		}
		if response.Status >= http.StatusMultipleChoices { // Redirects are not followed.
			o.details["notification_log"] = fmt.Sprintf("status %d: %s", response.Status, response.ShownBody())
			o.fail("Notification failed")
			o.transient = response.Status >= http.StatusInternalServerError || response.Status == http.StatusTooManyRequests
			return o
		}
	}
	return o
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
