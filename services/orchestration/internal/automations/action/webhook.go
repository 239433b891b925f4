package action

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/orch-project/orch/pkg/safedial"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/verify"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// maxShown bounds how much of an answer an event shows, in characters.
const maxShown = 1000

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
	m := newMessage(method, b.text("url"))
	m.body, m.publicOnly = []byte(payload), b.refusesPrivate()
	m.setSecrets(b.object("headers"))
	secret := b.text("signing_secret")
	if err := r.signMessage(m, secret, messageID(run)); err != nil {
		return o.fail("Webhook call failed: %s", err)
	}
	release, err := r.destinations.acquire(ctx, destination{ws, m.receiver()})
	if err != nil {
		return o.later(fmt.Errorf("Webhook call failed: %w", err)) //nolint:staticcheck // As the others begin.
	}
	defer release()
	began := r.Store.Now()
	answer, err := r.send(ctx, m)
	d := newDelivery(run, action, m, began)
	d.Latency = r.Store.Now().Sub(began).Seconds()
	if err != nil {
		unsent(o, "Webhook call failed: ", err)
		d.Reason = proto.String(unsentReason(err))
	} else {
		body := []rune(string(answer.body))
		d.Status, d.ResponseHeaders = proto.Int64(int64(answer.status)), shownHeaders(answer.header)
		d.ResponseBody = strings.ToValidUTF8(string(body[:min(len(body), maxShown)]), "\ufffd")
		o.details["status_code"] = answer.status
		o.details["response_body"] = d.GetResponseBody()
		o.details["response_headers"] = d.GetResponseHeaders()
		if secret != "" {
			received(o, answer.status)
			d.Reason = proto.String(reasonStatus)
		}
	}
	r.record(ctx, ws, d, o)
	return o
}

// setSecrets sets headers of a block. All but those that describe the message are secrets.
func (m *message) setSecrets(headers map[string]any) {
	m.secret = map[string]bool{}
	for name, value := range headers {
		if text, ok := value.(string); ok {
			m.header.Set(name, text)
			lower := strings.ToLower(name)
			m.secret[lower] = !slices.Contains(descriptive, lower)
		}
	}
}

// signMessage signs a message as Standard Webhooks specifies, if there is a secret. All attempts of an action have the same
// webhook-id, by which receivers recognise duplicates.
func (r *Runner) signMessage(m *message, secret, id string) error {
	if secret == "" {
		return nil
	}
	config := &orchv1.WebhookVerification{Scheme: orchv1.WebhookScheme_WEBHOOK_SCHEME_STANDARD_WEBHOOKS}
	if len(verify.CheckSecrets(config, []string{secret})) > 0 {
		return errSecret
	}
	fields, err := verify.Sign(config, secret, &receive.Request{Method: m.method, Raw: m.body}, id, r.Store.Now())
	if err != nil {
		return errSecret
	}
	for _, f := range fields {
		m.header.Set(f.Name, f.Value)
		delete(m.secret, strings.ToLower(f.Name)) // It replaces a header of the block.
	}
	return nil
}

// errSecret means that a block's signing secret is not usable. It does not show the secret.
var errSecret = errors.New("the signing_secret of the block is not whsec_ and the base64 of at least 8 bytes")

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
