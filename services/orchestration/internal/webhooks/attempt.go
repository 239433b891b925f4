package webhooks

import (
	"context"
	"net/http"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/admission"
	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/webhook/deliverylog"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/render"
	"github.com/orch-project/orch/pkg/webhook/verify"
	"github.com/orch-project/orch/pkg/webhookdef"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// attempt is what a webhook makes of a request whose sender is verified: events, a handshake, nothing, or an error with its reason.
type attempt struct {
	// rendered is the output of the template; nil before it.
	rendered  *string
	events    []*orchv1.ReceivedEvent
	encoded   []broker.Event
	handshake string
	// filtered reports that the filter, or an empty list, dropped the request; err is then that of a filter that failed.
	filtered bool
	// response is what the sender would receive; nil for 204, a handshake and a failed attempt.
	response *orchv1.WebhookRenderedResponse
	reason   string
	err      error
}

// status is the HTTP status of an attempt.
func (a attempt) status() int64 {
	switch {
	case a.response != nil:
		return a.response.GetStatus()
	case a.handshake != "":
		return http.StatusOK
	case a.filtered || a.err == nil:
		return http.StatusNoContent
	case a.reason == deliverylog.ReasonMethod:
		return http.StatusMethodNotAllowed
	}
	return http.StatusBadRequest
}

// stage is what holds the error of a failed attempt.
func (a attempt) stage() orchv1.WebhookRenderingStage {
	switch a.reason {
	case deliverylog.ReasonMethod:
		return orchv1.WebhookRenderingStage_WEBHOOK_RENDERING_STAGE_REQUEST
	case deliverylog.ReasonFilter, deliverylog.ReasonFiltered:
		return orchv1.WebhookRenderingStage_WEBHOOK_RENDERING_STAGE_FILTER
	case deliverylog.ReasonEvent:
		return orchv1.WebhookRenderingStage_WEBHOOK_RENDERING_STAGE_EVENT
	}
	return orchv1.WebhookRenderingStage_WEBHOOK_RENDERING_STAGE_TEMPLATE
}

// attempt does with a request what the hooks service would do, except that it publishes nothing. It skips the checks of the
// sender: the log has no credentials, and a rate depends on other requests. The id is the event's; uuid.Nil means a new one.
func (s *Service) attempt(
	ctx context.Context, ws uuid.UUID, w *orchv1.Webhook, r *receive.Request, id uuid.UUID, received *timestamppb.Timestamp,
) attempt {
	hook := definitionOf(ws, w)
	if err := receive.CheckMethod(hook.GetMethods(), r.Method); err != nil {
		return attempt{reason: deliverylog.ReasonMethod, err: err}
	}
	if answer := r.BodyHandshake(receive.HandshakesOf(hook, "")); answer != nil {
		return attempt{handshake: answer.Name}
	}
	memory, err := s.admission.Compute(ctx, len(r.Raw))
	if err != nil {
		return attempt{reason: deliverylog.ReasonTemplate, err: err}
	}
	defer memory.Close()
	body := r.Body()
	variables := render.NewVariables(r, body)
	a := s.makeEvents(ctx, ws, hook, r, body, variables, memory, id, received)
	if hook.Response != nil && (a.filtered || a.err == nil) {
		a.response = s.renderer.Respond(ctx, hook, variables, memory)
	}
	return a
}

// makeEvents is the part of an attempt that the filter and the template decide.
func (s *Service) makeEvents(
	ctx context.Context, ws uuid.UUID, hook *orchv1.WebhookDefinition, r *receive.Request, body receive.Body, variables *render.Variables,
	memory *admission.Reservation, id uuid.UUID, received *timestamppb.Timestamp,
) attempt {
	if matches, err := s.renderer.Match(ctx, hook, variables, memory); !matches {
		if err != nil && hook.GetFilterError() != orchv1.WebhookFilterError_WEBHOOK_FILTER_ERROR_FILTERED {
			return attempt{reason: deliverylog.ReasonFilter, err: err}
		}
		return attempt{filtered: true, reason: deliverylog.ReasonFiltered, err: err}
	}
	text, err := s.renderer.RenderFor(ctx, hook, variables, memory)
	if err != nil {
		return attempt{reason: deliverylog.ReasonTemplate, err: err}
	}
	a := attempt{rendered: &text}
	if a.events, err = s.renderer.Events(text, hook, r, body, id); err == nil && len(a.events) == 0 {
		return attempt{rendered: &text, filtered: true, reason: deliverylog.ReasonFiltered}
	}
	if err == nil {
		for _, event := range a.events {
			event.Received = received
		}
		a.encoded, err = events.ListToBroker(s.vocab, a.events, ws)
	}
	if err == nil {
		err = s.publisher.NewBatch().AddAll(a.encoded...) // The broker refuses events that are too large.
	}
	if err != nil {
		a.reason, a.err = deliverylog.ReasonEvent, err
	}
	return a
}

// recordedRequest is the request of a delivery as a replay processes it. The log stores neither the slug nor the secrets of that
// time; the current ones may be newer.
func (s *Service) recordedRequest(ws uuid.UUID, w *orchv1.Webhook, d *orchv1.WebhookDelivery) (*receive.Request, error) {
	r := deliverylog.Request(d)
	return r, s.addSecrets(ws, w, r)
}

// addSecrets adds the slug, the secrets and the credential headers of the webhook to a request, so that its event does not show
// them.
func (s *Service) addSecrets(ws uuid.UUID, w *orchv1.Webhook, r *receive.Request) error {
	id, err := uuid.Parse(w.GetId())
	if err != nil {
		return err
	}
	signing, verifyToken, err := webhookdef.OpenSecrets(s.secrets, ws, id, w)
	if err != nil {
		return err
	}
	r.Slug, r.Secrets = w.GetSlug(), verify.Notations(append(signing, verifyToken)...)
	if w.GetVerification() != nil {
		r.CredentialHeaders = verify.CredentialHeaders(w.GetVerification())
	}
	return nil
}
