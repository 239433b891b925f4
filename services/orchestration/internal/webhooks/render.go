package webhooks

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/render"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// draftName is the webhook's name in the event of a draft.
const draftName = "draft"

// RenderWebhook renders a template with a request as the hooks service would, without publishing. Errors of the
// template and of its output are part of the response.
func (s *Service) RenderWebhook(ctx context.Context, r *orchv1.RenderWebhookRequest) (*orchv1.WebhookRendering, error) {
	info, err := request.Incoming(ctx)
	if err != nil {
		return nil, err
	}
	draft := r.GetDraft()
	tried := s.draftRequest(draft)
	w := &orchv1.Webhook{Id: uuid.Nil.String(), Name: draftName, Template: draft.GetTemplate(), Undefined: draft.GetUndefined()}
	event, text, err := s.produce(ctx, w, info.Workspace, tried, uuid.Nil)
	rendering := &orchv1.WebhookRendering{Rendered: text, Warnings: s.warnings(ctx, w, tried)}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		rendering.Error = renderingError(err)
		return rendering, nil
	}
	if rendering.Event, err = restjson.Marshal(event); err != nil {
		return nil, err
	}
	return rendering, nil
}

// warnings returns the first missing value that a lenient template prints as nothing. A strict template has failed for it.
func (s *Service) warnings(ctx context.Context, w *orchv1.Webhook, r *receive.Request) []*orchv1.WebhookRenderingError {
	if w.GetUndefined() == orchv1.WebhookUndefined_WEBHOOK_UNDEFINED_STRICT {
		return nil
	}
	missing := s.renderer.Undefined(ctx, w.GetTemplate(), r, r.Body())
	if missing == nil {
		return nil
	}
	return []*orchv1.WebhookRenderingError{renderingError(missing)}
}

// draftRequest is the request of a draft, as it would have been received.
func (s *Service) draftRequest(draft *orchv1.WebhookDraft) *receive.Request {
	r := &receive.Request{Method: draft.GetMethod(), Query: draft.GetQuery(), Path: draft.GetPath(), Received: s.webhooks.Store().Now()}
	for name, value := range draft.GetHeaders() {
		if name = strings.ToLower(name); name != "authorization" { // Templates never see it.
			r.Header = append(r.Header, receive.Field{Name: name, Value: value})
		}
	}
	receive.Sort(r.Header)
	switch draft.GetMethod() {
	case http.MethodGet, http.MethodHead, http.MethodDelete:
		return r // These methods have no body, whatever the client sent.
	}
	r.Raw = []byte{}
	if draft.Body != nil {
		var text string
		if json.Unmarshal(draft.GetBody(), &text) == nil {
			r.Raw = []byte(text)
		} else {
			r.Raw = draft.GetBody()
		}
	}
	r.Wire = r.Raw
	return r
}

func renderingError(err error) *orchv1.WebhookRenderingError {
	out := &orchv1.WebhookRenderingError{Message: err.Error(), Stage: orchv1.WebhookRenderingStage_WEBHOOK_RENDERING_STAGE_TEMPLATE}
	if errors.Is(err, render.ErrEvent) {
		out.Stage = orchv1.WebhookRenderingStage_WEBHOOK_RENDERING_STAGE_EVENT
	}
	if line, column, ok := render.Place(err); ok {
		out.Line, out.Column = &line, &column
	}
	return out
}
