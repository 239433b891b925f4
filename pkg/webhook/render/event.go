package render

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/jsontree"
	"github.com/orch-project/orch/pkg/vocabulary"
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
	return e.EventIn(&EventMemory{}, text, hook, r, body, id)
}

// EventIn is Event in a memory that was cleared. The event is valid until the memory is cleared.
func (e *Engine) EventIn(
	m *EventMemory, text string, hook *orchv1.WebhookDefinition, r *receive.Request, body receive.Body, id uuid.UUID,
) (*orchv1.ReceivedEvent, error) {
	event := &m.event
	if !m.scan(text) {
		m.forget()
		if err := m.parse(text); err != nil {
			return nil, err
		}
	}
	m.received.Seconds, m.received.Nanos = r.Received.Unix(), int32(r.Received.Nanosecond())
	event.Received = &m.received
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
	fieldErrors := events.CheckNames(e.vocab, event.Event, event.Resource, m.list)
	e.webhookRelated(m.addRelated(), hook)
	event.Related = m.list
	if vocabulary.RunState(event.Event) {
		return nil, invalid("its name %q is one of the states of runs, which only runs report", event.Event)
	}
	if fieldErrors = append(fieldErrors, events.Validate(e.vocab, m.plain(), e.limits)...); len(fieldErrors) > 0 {
		messages := make([]string, len(fieldErrors))
		for i, f := range fieldErrors {
			messages[i] = f.Error()
		}
		return nil, invalid("%s", strings.Join(messages, "; "))
	}
	return event, nil
}

// parse reads the event of any text, by a tree.
func (m *EventMemory) parse(text string) error {
	value, err := jsontree.EventLimits().Parse(text)
	if err != nil {
		if strings.TrimSpace(text) == "" {
			return invalid("it is empty")
		}
		return invalid("it is not JSON: %w", err)
	}
	object, ok := value.(*jsontree.Object)
	if !ok {
		return invalid("it must be a JSON object, not %s", jsontree.TypeName(value))
	}
	for _, read := range []func(*jsontree.Object, *orchv1.ReceivedEvent) error{
		readName, readResource, readRelated,
		func(object *jsontree.Object, e *orchv1.ReceivedEvent) error { return readPayload(object, e, len(text)) },
		readOccurred, readID, readFollows,
	} {
		if err := read(object, &m.event); err != nil {
			return err
		}
	}
	m.list = append(m.list, m.event.GetRelated()...)
	return nil
}

// plain returns the event without the fields that the server adds.
func (m *EventMemory) plain() *orchv1.Event {
	e, to := &m.event, &m.checked
	to.Occurred, to.Event, to.Resource, to.Related = e.Occurred, e.Event, e.Resource, e.Related
	to.Payload, to.Id, to.Follows = e.Payload, e.Id, e.Follows
	return to
}

// roleWebhook is the role of a webhook as a related resource of its events.
const roleWebhook = "webhook"

// webhookRelated sets the labels of a webhook as a related resource.
func (e *Engine) webhookRelated(labels map[string]string, hook *orchv1.WebhookDefinition) {
	labels[e.vocab.ResourceID()] = e.vocab.CloudName("webhook", hook.GetId())
	labels[e.vocab.ResourceName()] = hook.GetName()
	labels[e.vocab.ResourceRole()] = roleWebhook
}

// defaultPayload is the payload of an event whose template sets none: the request, as a reference for template authors.
func defaultPayload(r *receive.Request, body receive.Body) []byte {
	return jsontree.Text(jsontree.NewObject(
		jsontree.Member{Key: "method", Value: r.Method},
		jsontree.Member{Key: "headers", Value: redact.Headers(r)},
		jsontree.Member{Key: "body", Value: redact.Body(body)},
	))
}
