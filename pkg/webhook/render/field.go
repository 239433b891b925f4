package render

import (
	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/webhook/jsonvalue"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func readName(object jsonvalue.Value, e *orchv1.ReceivedEvent) error {
	v, ok := object.Get("event")
	if !ok {
		return invalid("event is missing")
	}
	if v.Kind() != jsonvalue.String {
		return invalid("event must be a string, not %s", v.Kind())
	}
	e.Event = v.Str()
	return nil
}

func readResource(object jsonvalue.Value, e *orchv1.ReceivedEvent) error {
	v, ok := object.Get("resource")
	if !ok {
		return invalid("resource is missing")
	}
	labels, err := readLabels(v, "resource")
	e.Resource = &orchv1.Resource{Labels: labels}
	return err
}

func readRelated(object jsonvalue.Value, e *orchv1.ReceivedEvent) error {
	v, ok := object.Get("related")
	if !ok {
		return nil
	}
	if v.Kind() != jsonvalue.Array {
		return invalid("related must be a list, not %s", v.Kind())
	}
	for _, item := range v.Items() {
		labels, err := readLabels(item, "an entry of related")
		if err != nil {
			return err
		}
		e.Related = append(e.Related, &orchv1.RelatedResource{Labels: labels})
	}
	return nil
}

// readLabels reads an object of strings. Other scalars are refused, not converted: whether 1 means "1" or "1.0" is the
// template's to say.
func readLabels(v jsonvalue.Value, what string) (map[string]string, error) {
	if v.Kind() != jsonvalue.Object {
		return nil, invalid("%s must be an object, not %s", what, v.Kind())
	}
	labels := make(map[string]string, len(v.Members()))
	for _, m := range v.Members() {
		if m.Value.Kind() != jsonvalue.String {
			return nil, invalid("label %q of %s must be a string, not %s", m.Key, what, m.Value.Kind())
		}
		labels[m.Key] = m.Value.Str()
	}
	return labels, nil
}

// readPayload leaves the payload nil when it is missing or null; an empty object is a payload. It is hardly longer than
// size, in bytes.
func readPayload(object jsonvalue.Value, e *orchv1.ReceivedEvent, size int) error {
	v, _ := object.Get("payload")
	switch v.Kind() {
	case jsonvalue.Null:
	case jsonvalue.Object:
		e.Payload = v.Append(make([]byte, 0, size))
	default:
		return invalid("payload must be an object, not %s", v.Kind())
	}
	return nil
}

// readID leaves the id empty when it is missing or null.
func readID(object jsonvalue.Value, e *orchv1.ReceivedEvent) error {
	v, _ := object.Get("id")
	if v.Kind() == jsonvalue.Null {
		return nil
	}
	id, err := readUUID(v, "id")
	if err == nil && id == uuid.Nil {
		return invalid("id must not be the nil UUID")
	}
	e.Id = id.String()
	return err
}

func readFollows(object jsonvalue.Value, e *orchv1.ReceivedEvent) error {
	v, _ := object.Get("follows")
	if v.Kind() == jsonvalue.Null {
		return nil
	}
	id, err := readUUID(v, "follows")
	text := id.String()
	e.Follows = &text
	return err
}

// readUUID reads a UUID in any case, with hyphens or without, in braces or as a URN.
func readUUID(v jsonvalue.Value, what string) (uuid.UUID, error) {
	text := v.Str()
	if v.Kind() != jsonvalue.String {
		return uuid.Nil, invalid("%s must be a UUID, not %s", what, v.Kind())
	}
	if n := len(text); n > 2 && text[0] == '{' && text[n-1] == '}' {
		text = text[1 : n-1]
	} else if n == 38 {
		text = "" // Parse would take any two signs for braces.
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil, invalid("%s must be a UUID", what)
	}
	return id, nil
}
