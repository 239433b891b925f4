package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/request"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/rpc"
	"github.com/orch-project/orch/pkg/webhook/deliverylog"
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
	w := &orchv1.Webhook{Id: uuid.Nil.String(), Name: draftName}
	tried := s.draftRequest(draft)
	if draft.WebhookId != nil {
		if _, w, err = s.owned(ctx, draft.GetWebhookId()); err != nil {
			return nil, err
		}
		if err := s.addSecrets(info.Workspace, w, tried); err != nil {
			return nil, fmt.Errorf("render template: %w", err)
		}
		w = proto.CloneOf(w)
	}
	w.Template = draft.GetTemplate()
	setDraftFilter(w, draft.Filter)
	if draft.Undefined != nil {
		w.Undefined = draft.GetUndefined()
	}
	return s.rendering(ctx, info.Workspace, w, tried, uuid.Nil)
}

// RenderDelivery renders the request of a delivery as its replay would, without publishing.
func (s *Service) RenderDelivery(ctx context.Context, r *orchv1.RenderDeliveryRequest) (*orchv1.WebhookRendering, error) {
	info, w, err := s.owned(ctx, r.GetId())
	if err != nil {
		return nil, err
	}
	d, err := s.delivery(ctx, info.Workspace, r.GetId(), r.GetDeliveryId())
	if err != nil {
		return nil, err
	}
	if reason := deliverylog.NotReplayable(d); reason != "" {
		return nil, rpc.Detail(http.StatusConflict, reason)
	}
	return s.renderRecorded(ctx, info.Workspace, w, d, r.GetDraft())
}

// renderRecorded renders a recorded request with a draft, which may be nil.
func (s *Service) renderRecorded(
	ctx context.Context, ws uuid.UUID, w *orchv1.Webhook, d *orchv1.WebhookDelivery, draft *orchv1.WebhookDeliveryDraft,
) (*orchv1.WebhookRendering, error) {
	recorded, err := s.recordedRequest(ws, w, d)
	if err != nil {
		return nil, fmt.Errorf("render a recorded request: %w", err)
	}
	w = proto.CloneOf(w)
	if draft.GetTemplate() != "" {
		w.Template = draft.GetTemplate()
	}
	if draft != nil {
		setDraftFilter(w, draft.Filter)
	}
	return s.rendering(ctx, ws, w, recorded, eventID(d))
}

// setDraftFilter sets the filter of a draft: nil leaves that of the webhook, an empty one means none.
func setDraftFilter(w *orchv1.Webhook, filter *string) {
	if filter == nil {
		return
	}
	w.Filter = filter
	if *filter == "" {
		w.Filter = nil
	}
}

// rendering is what a webhook makes of a request.
func (s *Service) rendering(ctx context.Context, ws uuid.UUID, w *orchv1.Webhook, r *receive.Request, id uuid.UUID) (*orchv1.WebhookRendering, error) {
	tried := s.attempt(ctx, ws, w, r, id, timestamppb.New(s.webhooks.Store().Now()))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	out := &orchv1.WebhookRendering{Rendered: tried.rendered, Response: tried.response}
	switch {
	case tried.filtered:
		out.Filtered = true
		if tried.err != nil {
			out.Error = render.Problem(tried.err, tried.stage())
		}
		return out, nil
	case tried.err != nil:
		out.Error = render.Problem(tried.err, tried.stage())
	case tried.handshake != "":
		out.Handshake = &tried.handshake
		return out, nil
	default:
		if err := s.addAnnotations(ctx, tried); err != nil {
			return nil, err
		}
		if err := setEvents(out, tried.events); err != nil {
			return nil, err
		}
	}
	out.Warnings = s.warnings(ctx, w, r)
	return out, nil
}

// addAnnotations adds the related resources that the events of an attempt would have when they are stored.
func (s *Service) addAnnotations(ctx context.Context, tried attempt) error {
	if err := s.annotate(ctx, tried.encoded); err != nil {
		return err
	}
	for i, encoded := range tried.encoded {
		annotated, _, err := events.FromBroker(encoded)
		if err != nil {
			return err
		}
		tried.events[i].Related = annotated.GetRelated()
	}
	return nil
}

// setEvents sets the events of a rendering.
func setEvents(out *orchv1.WebhookRendering, list []*orchv1.ReceivedEvent) (err error) {
	if out.Event, err = restjson.Marshal(list[0]); err != nil || len(list) == 1 {
		return err
	}
	encoded := make([]json.RawMessage, len(list))
	for i, event := range list {
		if encoded[i], err = restjson.Marshal(event); err != nil {
			return err
		}
	}
	out.Events, err = json.Marshal(encoded)
	return err
}

// warnings returns the labels of the other vocabulary, and the first missing value that a lenient template prints as nothing. A strict
// template has failed for it.
func (s *Service) warnings(ctx context.Context, w *orchv1.Webhook, r *receive.Request) []*orchv1.WebhookRenderingError {
	var out []*orchv1.WebhookRenderingError
	for _, label := range s.renderer.ForeignLabels(w.GetTemplate()) {
		out = append(out, render.Problem(label, orchv1.WebhookRenderingStage_WEBHOOK_RENDERING_STAGE_EVENT))
	}
	if w.GetUndefined() == orchv1.WebhookUndefined_WEBHOOK_UNDEFINED_STRICT {
		return out
	}
	if missing := s.renderer.Undefined(ctx, w.GetTemplate(), render.NewVariables(r, r.Body())); missing != nil {
		out = append(out, render.Problem(missing, orchv1.WebhookRenderingStage_WEBHOOK_RENDERING_STAGE_TEMPLATE))
	}
	return out
}

// typedRequest is a request that a user typed.
type typedRequest interface {
	GetMethod() string
	GetPath() string
	GetQuery() string
	GetHeaders() map[string]string
	GetBody() []byte
}

// draftRequest is a typed request, as it would have been received.
func (s *Service) draftRequest(draft typedRequest) *receive.Request {
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
	if body := draft.GetBody(); body != nil {
		var text string
		if json.Unmarshal(body, &text) == nil {
			r.Raw = []byte(text)
		} else {
			r.Raw = body
		}
	}
	r.Wire = r.Raw
	return r
}
