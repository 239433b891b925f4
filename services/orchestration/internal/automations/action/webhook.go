package action

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/safedial"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/egress"
)

// callWebhook sends the payload to the address of a webhook block. Any answer is a success, unless the block has a signing
// secret: then only a 2xx is, as Standard Webhooks has it.
func (r *Runner) callWebhook(ctx context.Context, o *result, ws uuid.UUID, run *orchv1.AutomationActionRun, action *orchv1.CallWebhook) *result {
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
	m := egress.NewMessage(method, b.text("url"))
	m.Body, m.PublicOnly = []byte(payload), b.refusesPrivate()
	for name, value := range b.object("headers") {
		if text, ok := value.(string); ok {
			m.SetSecret(name, text)
		}
	}
	secret := b.text("signing_secret")
	if secret != "" {
		if err := m.Sign(secret, messageID(run), r.Store.Now()); err != nil {
			return o.fail("Webhook call failed: the signing_secret of the block %s", err)
		}
	}
	release, err := r.destinations.acquire(ctx, destination{ws, m.Receiver()})
	if err != nil {
		return o.later(fmt.Errorf("Webhook call failed: %w", err)) //nolint:staticcheck // As the others begin.
	}
	defer release()
	began := r.Store.Now()
	response, err := r.client.Send(ctx, m)
	d := newDelivery(run, action, m, began)
	d.Latency = r.Store.Now().Sub(began).Seconds()
	if err != nil {
		unsent(o, "Webhook call failed: ", err)
		d.Reason = proto.String(egress.Reason(err))
	} else {
		d.Status, d.ResponseHeaders = proto.Int64(int64(response.Status)), response.ShownHeaders()
		d.ResponseBody = response.ShownBody()
		o.details["status_code"] = response.Status
		o.details["response_body"] = d.GetResponseBody()
		o.details["response_headers"] = d.GetResponseHeaders()
		if secret != "" {
			received(o, response.Status)
			d.Reason = proto.String(egress.ReasonStatus)
		}
	}
	r.record(ctx, ws, d, o)
	return o
}

// received decides by the status of the response whether a receiver of Standard Webhooks has the message. A 410 and other
// refusals are final.
func received(o *result, status int) *result {
	switch {
	case status >= http.StatusOK && status < http.StatusMultipleChoices:
		return o
	case status >= http.StatusInternalServerError, status == http.StatusTooManyRequests, status == http.StatusRequestTimeout:
		return o.later(fmt.Errorf("Webhook call failed: the receiver responded with status %d", status)) //nolint:staticcheck // As the others begin.
	}
	return o.fail("Webhook call failed: the receiver responded with status %d", status)
}

// unsent notes that nothing was sent. A call that the server forbids is not tried again.
func unsent(o *result, prefix string, err error) *result {
	o.later(errors.New(prefix + err.Error()))
	o.transient = !errors.Is(err, safedial.ErrForbidden)
	return o
}
