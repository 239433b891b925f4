package render

import (
	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/jsontree"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

func readName(object *jsontree.Object, e *orchv1.ReceivedEvent) error {
	v, ok := object.Get("event")
	if !ok {
		return invalid("event is missing")
	}
	name, ok := v.(string)
	if !ok {
		return invalid("event must be a string, not %s", jsontree.TypeName(v))
	}
	e.Event = name
	return nil
}

func readResource(object *jsontree.Object, e *orchv1.ReceivedEvent) error {
	v, ok := object.Get("resource")
	if !ok {
		return invalid("resource is missing")
	}
	labels, err := readLabels(v, "resource")
	e.Resource = &orchv1.Resource{Labels: labels}
	return err
}

func readRelated(object *jsontree.Object, e *orchv1.ReceivedEvent) error {
	v, ok := object.Get("related")
	if !ok {
		return nil
	}
	items, ok := v.(jsontree.List)
	if !ok {
		return invalid("related must be a list, not %s", jsontree.TypeName(v))
	}
	for _, item := range items {
		labels, err := readLabels(item, "an entry of related")
		if err != nil {
			return err
		}
		e.Related = append(e.Related, &orchv1.RelatedResource{Labels: labels})
	}
	return nil
}

// readLabels parses an object of strings. It refuses other scalars instead of converting them: the template decides
// whether 1 means "1" or "1.0".
func readLabels(v jsontree.Value, what string) (map[string]string, error) {
	object, ok := v.(*jsontree.Object)
	if !ok {
		return nil, invalid("%s must be an object, not %s", what, jsontree.TypeName(v))
	}
	labels := make(map[string]string, object.Len())
	for _, m := range object.Members() {
		label, ok := m.Value.(string)
		if !ok {
			return nil, invalid("label %q of %s must be a string, not %s", m.Key, what, jsontree.TypeName(m.Value))
		}
		labels[m.Key] = label
	}
	return labels, nil
}

// readPayload leaves the payload nil if it is missing or null; an empty object is a payload. Its length is about size,
// in bytes.
func readPayload(object *jsontree.Object, e *orchv1.ReceivedEvent, size int) error {
	v, _ := object.Get("payload")
	switch v := v.(type) {
	case nil:
	case *jsontree.Object:
		e.Payload = jsontree.Append(make([]byte, 0, size), v)
	default:
		return invalid("payload must be an object, not %s", jsontree.TypeName(v))
	}
	return nil
}

// readID leaves the id empty if it is missing or null.
func readID(object *jsontree.Object, e *orchv1.ReceivedEvent) error {
	v, _ := object.Get("id")
	if v == nil {
		return nil
	}
	id, err := readUUID(v, "id")
	if err == nil && id == uuid.Nil {
		return invalid("id must not be the nil UUID")
	}
	e.Id = id.String()
	return err
}

func readFollows(object *jsontree.Object, e *orchv1.ReceivedEvent) error {
	v, _ := object.Get("follows")
	if v == nil {
		return nil
	}
	id, err := readUUID(v, "follows")
	text := id.String()
	e.Follows = &text
	return err
}

// readUUID parses a UUID in any case, with hyphens or without, in braces or as a URN.
func readUUID(v jsontree.Value, what string) (uuid.UUID, error) {
	text, ok := v.(string)
	if !ok {
		return uuid.Nil, invalid("%s must be a UUID, not %s", what, jsontree.TypeName(v))
	}
	if n := len(text); n > 2 && text[0] == '{' && text[n-1] == '}' {
		text = text[1 : n-1]
	} else if n == 38 {
		text = "" // Parse accepts any two characters as braces.
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil, invalid("%s must be a UUID", what)
	}
	return id, nil
}
