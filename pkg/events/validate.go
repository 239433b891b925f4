package events

import (
	"fmt"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// maxGrowth is by how much a text can grow in JSON: a control character becomes six.
const maxGrowth = 6

// Validate returns what keeps an event from being taken in, nil when nothing does. Types and formats are the decoder's
// business; this is about names, labels and sizes.
func Validate(v vocabulary.Vocabulary, e *orchv1.Event, limits Limits) []FieldError {
	var fieldErrors []FieldError
	switch n := utf8.RuneCountInString(e.GetEvent()); {
	case n == 0:
		fieldErrors = append(fieldErrors, FieldError{Path: []any{"event"}, Type: "string_too_short", Message: "String should have at least 1 character"})
	case limits.NameLength > 0 && n > limits.NameLength:
		fieldErrors = append(fieldErrors, refused(fmt.Sprintf("Event name must be at most %d characters", limits.NameLength), "event"))
	}
	fieldErrors = append(fieldErrors, labels(v, e.GetResource().GetLabels(), limits, false, func() []any { return []any{"resource"} })...)
	if limits.Related > 0 && len(e.GetRelated()) > limits.Related {
		fieldErrors = append(fieldErrors, refused(fmt.Sprintf("The maximum number of related resources is %d", limits.Related), "related"))
	} else {
		for i, r := range e.GetRelated() {
			fieldErrors = append(fieldErrors, labels(v, r.GetLabels(), limits, true, func() []any { return []any{"related", i} })...)
		}
	}
	if e.GetId() == uuid.Nil.String() { // It is what consumers know the event by.
		fieldErrors = append(fieldErrors, refused("The id must not be nil", "id"))
	}
	if len(fieldErrors) == 0 && limits.Bytes > 0 && !fits(e, limits.Bytes) {
		fieldErrors = append(fieldErrors, tooLarge(limits.Bytes))
	}
	return fieldErrors
}

func tooLarge(limit int) FieldError {
	return refused(fmt.Sprintf("The maximum size of an event is %d bytes", limit))
}

// labels checks one resource; at gives the path to it.
func labels(v vocabulary.Vocabulary, labels map[string]string, limits Limits, related bool, at func() []any) []FieldError {
	var fieldErrors []FieldError
	if limits.Labels > 0 && len(labels) > limits.Labels {
		fieldErrors = append(fieldErrors, refused(fmt.Sprintf("The maximum number of labels per resource is %d", limits.Labels), at()...))
	}
	needed := [...]struct{ name, by string }{{v.ResourceID(), "Resources"}, {v.ResourceRole(), "Related Resources"}}
	for i, label := range needed {
		if i > 0 && !related {
			break
		}
		name := label.name
		if value, ok := labels[name]; !ok {
			fieldErrors = append(fieldErrors, refused(label.by+" must include the "+name+" label", at()...))
		} else if value == "" {
			fieldErrors = append(fieldErrors, refused("The "+name+" label must be non-empty", at()...))
		}
	}
	return fieldErrors
}

// fits tells whether the event is small enough. Most are so small that they need not be written to be measured. What
// cannot be written at all is not too large: ToBroker says what is wrong with it.
func fits(e *orchv1.Event, limit int) bool {
	if atMost(e) <= limit {
		return true
	}
	text, err := restjson.Marshal(e)
	return err != nil || len(text) <= limit
}

// atMost is a length that the event does not exceed as REST JSON, in bytes.
func atMost(e *orchv1.Event) int {
	const around = 512 // The names of all fields, the times and the ids.
	n := around + len(e.GetPayload()) + maxGrowth*len(e.GetEvent())
	add := func(labels map[string]string) {
		n += len(`{},`)
		for name, value := range labels {
			n += len(`"":"",`) + maxGrowth*(len(name)+len(value))
		}
	}
	add(e.GetResource().GetLabels())
	for _, r := range e.GetRelated() {
		add(r.GetLabels())
	}
	return n
}
