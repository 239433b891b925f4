package events

import (
	"fmt"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/taskrunevents"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// maxGrowth bounds the growth of a text in JSON: a control character becomes six.
const maxGrowth = 6

// Validate returns the field errors of an event; nil if it is valid. Types and formats are checked by the decoder; this
// checks names, labels, sizes, and the states of task runs that clients report.
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
	if e.GetId() == uuid.Nil.String() { // Consumers identify the event by it.
		fieldErrors = append(fieldErrors, refused("The id must not be nil", "id"))
	}
	if len(fieldErrors) == 0 && taskrunevents.OfClient(v, e) {
		if _, err := taskrunevents.Read(v, e); err != nil {
			fieldErrors = append(fieldErrors, refused(err.Error(), "payload"))
		}
	}
	if len(fieldErrors) == 0 && limits.Bytes > 0 && !fits(e, limits.Bytes) {
		fieldErrors = append(fieldErrors, tooLarge(limits.Bytes))
	}
	return fieldErrors
}

func tooLarge(limit int) FieldError {
	return refused(fmt.Sprintf("The maximum size of an event is %d bytes", limit))
}

// labels checks one resource; at returns the path to it.
func labels(v vocabulary.Vocabulary, labels map[string]string, limits Limits, related bool, at func() []any) []FieldError {
	var fieldErrors []FieldError
	if limits.Labels > 0 && len(labels) > limits.Labels {
		fieldErrors = append(fieldErrors, refused(fmt.Sprintf("The maximum number of labels per resource is %d", limits.Labels), at()...))
	}
	for name, value := range labels {
		if longer(name, limits.LabelLength) || longer(value, limits.LabelLength) {
			fieldErrors = append(fieldErrors, refused(fmt.Sprintf("A label must have at most %d characters", limits.LabelLength), at()...))
			break // One error says it; another one would depend on the order of the map.
		}
	}
	needed := [...]struct{ name, by string }{{v.ResourceID(), "Resources"}, {v.ResourceRole(), "Related Resources"}}
	for i, label := range needed {
		if i > 0 && !related {
			break
		}
		name := label.name
		if value, ok := labels[name]; !ok {
			fieldErrors = append(fieldErrors, missing(v, labels, i, label.by+" must include the "+name+" label", at()))
		} else if value == "" {
			fieldErrors = append(fieldErrors, refused("The "+name+" label must be non-empty", at()...))
		}
	}
	return fieldErrors
}

// longer reports whether a text has more characters than a limit; 0 means unlimited. A text has at least as many bytes.
func longer(text string, limit int) bool {
	return limit > 0 && len(text) > limit && utf8.RuneCountInString(text) > limit
}

// missing returns the field error of a label that a resource lacks. A resource with that label of the other vocabulary is of a
// client that expects that vocabulary.
func missing(v vocabulary.Vocabulary, labels map[string]string, label int, message string, at []any) FieldError {
	other := v.Other()
	foreign := [...]string{other.ResourceID(), other.ResourceRole()}[label]
	if _, ok := labels[foreign]; !ok {
		return refused(message, at...)
	}
	e := refused(fmt.Sprintf("%s; %s is a name of the vocabulary %s, which the stopped server gets by: %s", message, foreign, other, v.Remedy()), at...)
	e.Type = TypeVocabulary
	return e
}

// fits reports whether the event is within the size limit. Most events are so small that an estimate suffices. An event
// that cannot be encoded fits: ToBroker returns the error.
func fits(e *orchv1.Event, limit int) bool {
	if atMost(e) <= limit {
		return true
	}
	text, err := restjson.Marshal(e)
	return err != nil || len(text) <= limit
}

// atMost returns an upper bound of the event's size as REST JSON, in bytes.
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
