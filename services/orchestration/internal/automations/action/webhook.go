package action

import (
	"context"
	"errors"
	"net/http"

	"github.com/orch-project/orch/pkg/safedial"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// maxShown bounds how much of an answer an event shows, in characters.
const maxShown = 1000

// callWebhook sends the payload to the address of a webhook block. Any answer is a success.
func (r *Runner) callWebhook(ctx context.Context, o *result, run *orchv1.AutomationActionRun, action *orchv1.CallWebhook) *result {
	b, ok := r.readBlock(ctx, o, run, action.GetBlockDocumentId())
	if !ok {
		return o
	}
	if b.kind != "webhook" {
		return o.fail("The referenced block was not a webhook block")
	}
	r.relateBlock(o, b)
	payload, err := r.render(ctx, run, action.GetPayload())
	if err != nil {
		return r.templateFailed(o, err, err.Error(), action.GetPayload())
	}
	method := b.text("method")
	if method == "" {
		method = http.MethodPost
	}
	m := newMessage(method, b.text("url"))
	m.body = []byte(payload)
	for name, value := range b.object("headers") {
		if text, ok := value.(string); ok {
			m.header.Set(name, text)
		}
	}
	answer, err := r.send(ctx, m)
	if err != nil {
		return unsent(o, "Webhook call failed: ", err)
	}
	body := []rune(string(answer.body))
	o.details["status_code"] = answer.status
	o.details["response_body"] = string(body[:min(len(body), maxShown)])
	o.details["response_headers"] = shownHeaders(answer.header)
	return o
}

// unsent notes that nothing was sent. What the server forbids is not tried again.
func unsent(o *result, prefix string, err error) *result {
	o.later(errors.New(prefix + err.Error()))
	o.transient = !errors.Is(err, safedial.ErrForbidden)
	return o
}
