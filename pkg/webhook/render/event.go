package render

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/webhook/receive"
	"github.com/orch-project/orch/pkg/webhook/redact"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// invalid returns the error of a text that is not an event.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrEvent}, args...)...)
}

// Event parses the event that a template rendered, sets defaults, and appends the webhook as a related resource. It
// ignores unknown keys, and received, which is always the server's clock. id is the event's id if the template sets
// none; uuid.Nil means a new one.
func (e *Engine) Event(text string, hook *orchv1.WebhookDefinition, r *receive.Request, body receive.Body, id uuid.UUID) (*orchv1.ReceivedEvent, error) {
	value, err := jsontree.EventLimits().Parse(text)
	if err != nil {
		if strings.TrimSpace(text) == "" {
			return nil, invalid("it is empty")
		}
		return nil, invalid("it is not JSON: %w", err)
	}
	object, ok := value.(*jsontree.Object)
	if !ok {
		return nil, invalid("it must be a JSON object, not %s", jsontree.TypeName(value))
	}
	event := &orchv1.ReceivedEvent{Received: timestamppb.New(r.Received)}
	for _, read := range []func(*jsontree.Object, *orchv1.ReceivedEvent) error{
		readName, readResource, readRelated,
		func(object *jsontree.Object, e *orchv1.ReceivedEvent) error { return readPayload(object, e, len(text)) },
		readOccurred, readID, readFollows,
	} {
		if err := read(object, event); err != nil {
			return nil, err
		}
	}
	if event.Id == "" {
		if id == uuid.Nil {
			id = e.ids.New()
		}
		event.Id = id.String()
	}
	if event.Occurred == nil {
		event.Occurred = event.Received
	}
	if event.Payload == nil {
		event.Payload = defaultPayload(r, body)
	}
	event.Related = append(event.Related, e.webhookRelated(hook))
	if fieldErrors := events.Validate(e.vocab, plain(event), e.limits); len(fieldErrors) > 0 {
		messages := make([]string, len(fieldErrors))
		for i, f := range fieldErrors {
			messages[i] = f.Error()
		}
		return nil, invalid("%s", strings.Join(messages, "; "))
	}
	return event, nil
}

// plain returns the event without the fields that the server adds.
func plain(e *orchv1.ReceivedEvent) *orchv1.Event {
	return &orchv1.Event{
		Occurred: e.Occurred, Event: e.Event, Resource: e.Resource, Related: e.Related, Payload: e.Payload, Id: e.Id, Follows: e.Follows,
	}
}

// roleWebhook is the role of a webhook as a related resource of its events.
const roleWebhook = "webhook"

func (e *Engine) webhookRelated(hook *orchv1.WebhookDefinition) *orchv1.RelatedResource {
	return &orchv1.RelatedResource{Labels: map[string]string{
		e.vocab.ResourceID():   e.vocab.CloudName("webhook", hook.GetId()),
		e.vocab.ResourceName(): hook.GetName(),
		e.vocab.ResourceRole(): roleWebhook,
	}}
}

// defaultPayload is the payload of an event whose template sets none: the request, as a reference for template authors.
func defaultPayload(r *receive.Request, body receive.Body) []byte {
	return jsontree.Text(jsontree.NewObject(
		jsontree.Member{Key: "method", Value: r.Method},
		jsontree.Member{Key: "headers", Value: redact.Headers(r)},
		jsontree.Member{Key: "body", Value: redact.Body(body)},
	))
}
