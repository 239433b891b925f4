package action

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
	"github.com/orch-project/orch/services/orchestration/internal/automations/engine"
	"github.com/orch-project/orch/services/orchestration/internal/egress"
)

// webhookBlock is the type of the blocks of calls.
const webhookBlock = "webhook"

// callWebhook sends the payload to the address of a webhook block.
func (r *Runner) callWebhook(ctx context.Context, o *result, ws uuid.UUID, run *orchv1.AutomationActionRun, action *orchv1.CallWebhook) *result {
	b, ok := r.readBlock(ctx, o, engine.ActionType(run.GetAction()), action.GetBlockDocumentId())
	if !ok {
		return o
	}
	if b.kind != webhookBlock {
		return o.fail("The referenced block was not a webhook block")
	}
	r.relateBlock(o, b)
	payload, err := r.render(ctx, run, action.GetPayload())
	if err != nil {
		return r.templateFailed(o, err, err.Error(), action.GetPayload())
	}
	return r.queue(ctx, o, ws, run, b, "", payload)
}

// call makes the request of a webhook block. Any response is a success, unless the block has a signing secret: then only a 2xx is, as
// Standard Webhooks has it.
func call(b *block, _, payload string) ([]*egress.Message, error) {
	method := b.text("method")
	if method == "" {
		method = http.MethodPost
	}
	m := egress.NewMessage(method, b.text("url"))
	m.Body = []byte(payload)
	switch { // The block may name another type.
	case payload == "":
	case json.Valid(m.Body):
		m.Header.Set("Content-Type", "application/json")
	default:
		m.Header.Set("Content-Type", "text/plain; charset=utf-8")
	}
	for name, value := range b.object("headers") {
		if text, ok := value.(string); ok {
			m.SetSecret(name, text)
		}
	}
	m.SigningSecret = b.text("signing_secret")
	m.AnyStatus = m.SigningSecret == ""
	if !m.AnyStatus {
		if err := egress.CheckSecret(m.SigningSecret); err != nil {
			return nil, fmt.Errorf("the signing_secret of the block %w", err)
		}
	}
	return []*egress.Message{m}, nil
}
