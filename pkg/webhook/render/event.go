package render

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

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

// MaxEvents bounds the events of one request.
const MaxEvents = 100

// Events parses the event, or the list of events, that a template rendered, sets defaults, and appends the webhook as a related
// resource. It ignores unknown keys, and received, which is always the server's clock. id is the event's id if the template sets
// none; uuid.Nil means a new one. The ids of the further events of a list derive from it. An empty list has no event.
func (e *Engine) Events(text string, hook *orchv1.WebhookDefinition, r *receive.Request, body receive.Body, id uuid.UUID) ([]*orchv1.ReceivedEvent, error) {
	return e.EventsIn(&EventMemory{}, text, hook, r, body, id)
}

// EventsIn is Events in a memory that was cleared. The event of a text that is no list is valid until the memory is cleared.
func (e *Engine) EventsIn(
	m *EventMemory, text string, hook *orchv1.WebhookDefinition, r *receive.Request, body receive.Body, id uuid.UUID,
) ([]*orchv1.ReceivedEvent, error) {
	if strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "[") {
		return e.list(text, hook, r, body, id)
	}
	if !m.scan(text) {
		m.forget()
		if err := m.parse(text); err != nil {
			return nil, err
		}
	}
	if err := e.complete(m, hook, r, func() []byte { return defaultPayload(r, body) }, id); err != nil {
		return nil, err
	}
	m.one[0] = &m.event
	return m.one[:], nil
}

// list reads the events of a text that is a list.
func (e *Engine) list(
	text string, hook *orchv1.WebhookDefinition, r *receive.Request, body receive.Body, id uuid.UUID,
) ([]*orchv1.ReceivedEvent, error) {
	value, err := jsontree.EventLimits().Parse(text)
	if err != nil {
		return nil, invalid("it is not JSON: %w", err)
	}
	items, _ := value.(jsontree.List)
	if len(items) > MaxEvents {
		return nil, invalid("it is a list of %d events, and at most %d are taken", len(items), MaxEvents)
	}
	payload := sync.OnceValue(func() []byte { return defaultPayload(r, body) }) // All events share it.
	list := make([]*orchv1.ReceivedEvent, len(items))
	first := make(map[string]int, len(items))
	for i, item := range items {
		m := &EventMemory{}
		err := m.read(item, len(text))
		if err == nil {
			err = e.complete(m, hook, r, payload, eventID(id, i))
		}
		if err != nil {
			return nil, fmt.Errorf("event %d of %d: %w", i+1, len(items), err)
		}
		list[i] = &m.event
		if before, found := first[m.event.GetId()]; found {
			return nil, invalid("events %d and %d of %d have the same id", before+1, i+1, len(items))
		}
		first[m.event.GetId()] = i
	}
	return list, nil
}

// eventID returns the id of an event in the list of a request with an id. The first event, and an event that is
// no list, have the id of the request.
func eventID(id uuid.UUID, i int) uuid.UUID {
	if id == uuid.Nil || i == 0 {
		return id
	}
	return uuid.NewSHA1(id, []byte(strconv.Itoa(i)))
}

// complete sets defaults of the event that was read, and checks it.
func (e *Engine) complete(m *EventMemory, hook *orchv1.WebhookDefinition, r *receive.Request, payload func() []byte, id uuid.UUID) error {
	event := &m.event
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
		event.Payload = payload()
	}
	fieldErrors := events.CheckNames(e.vocab, event.Event, event.Resource, m.list)
	e.webhookRelated(m.addRelated(), hook)
	event.Related = m.list
	if vocabulary.RunState(event.Event) {
		return invalid("its name %q is one of the states of runs, which only runs report", event.Event)
	}
	if fieldErrors = append(fieldErrors, events.Validate(e.vocab, m.plain(), e.limits)...); len(fieldErrors) > 0 {
		messages := make([]string, len(fieldErrors))
		for i, f := range fieldErrors {
			messages[i] = f.Error()
		}
		return invalid("%s", strings.Join(messages, "; "))
	}
	return nil
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
	return m.read(value, len(text))
}

// read reads the event of a JSON value in a text of a size in bytes.
func (m *EventMemory) read(value jsontree.Value, size int) error {
	object, ok := value.(*jsontree.Object)
	if !ok {
		return invalid("it must be a JSON object, not %s", jsontree.TypeName(value))
	}
	for _, read := range []func(*jsontree.Object, *orchv1.ReceivedEvent) error{
		readName, readResource, readRelated,
		func(object *jsontree.Object, e *orchv1.ReceivedEvent) error { return readPayload(object, e, size) },
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
