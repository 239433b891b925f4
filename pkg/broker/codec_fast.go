package broker

import (
	"slices"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/jsontoken"
)

// ownFrame decodes a frame of appendFrame and appends its events: with the members in that order, no white space between them,
// and no escapes in the attributes. For every other frame, valid or not, it returns false, and encoding/json decodes it. The
// events share the frame's memory.
func ownFrame(to []Event, frame []byte) ([]Event, bool) {
	r := ownReader{text: frame}
	if !r.take("[") {
		return to, false
	}
	events := to
	for {
		var e Event
		if len(events) > 0 {
			last := &events[len(events)-1]
			e.Source, e.Type = last.Source, last.Type // Probably the same; then all events share one string.
		}
		if !r.event(&e) {
			return to, false
		}
		if len(events) == len(to) { // Probably all events have this length.
			events = slices.Grow(events, min(MaxFrameEvents, len(frame)/r.at+1))
		}
		events = append(events, e)
		if !r.take(",") {
			if !r.take("]") || r.at != len(frame) {
				return to, false
			}
			return events, true
		}
	}
}

// ownReader consumes tokens from the front of text[at:].
type ownReader struct {
	text []byte
	at   int
}

func (r *ownReader) take(what string) bool {
	end := r.at + len(what)
	if end > len(r.text) || string(r.text[r.at:end]) != what {
		return false
	}
	r.at = end
	return true
}

// plain reads the rest of a string after its opening quote; the result is valid UTF-8 and shares the text's memory.
func (r *ownReader) plain() ([]byte, bool) {
	end, ascii := jsontoken.PlainEnd(r.text, r.at)
	if end == len(r.text) || r.text[end] != '"' {
		return nil, false
	}
	s := r.text[r.at:end]
	r.at = end + 1
	return s, ascii || utf8.Valid(s)
}

// event decodes the output of appendEvent. It reuses the source and type in e if they are equal.
func (r *ownReader) event(e *Event) bool {
	if !r.take(`{"specversion":"1.0","id":"`) || !r.id(&e.ID) || e.ID == uuid.Nil ||
		!r.take(`,"source":"`) || !r.attribute(&e.Source) || !r.take(`,"type":"`) || !r.attribute(&e.Type) ||
		r.take(`,"subject":"`) && !r.attribute(&e.Subject) ||
		r.take(`,"time":"`) && !r.time(e) ||
		r.take(`,"orchworkspace":"`) && !r.id(&e.Workspace) ||
		r.take(`,"traceparent":"`) && !r.attribute(&e.TraceParent) ||
		r.take(`,"tracestate":"`) && !r.attribute(&e.TraceState) {
		return false
	}
	if r.take(`,"datacontenttype":"application/json","data":`) {
		end, ok := jsontoken.ValueEnd(r.text, r.at)
		if !ok {
			return false
		}
		e.Data = r.text[r.at:end:end]
		r.at = end
	}
	return r.take("}")
}

// attribute reads a non-empty string.
func (r *ownReader) attribute(to *string) bool {
	s, ok := r.plain()
	if string(s) != *to {
		*to = string(s)
	}
	return ok && len(s) > 0
}

func (r *ownReader) id(to *uuid.UUID) bool {
	s, ok := r.plain()
	if !ok || len(s) != 36 {
		return false
	}
	id, err := uuid.ParseBytes(s)
	*to = id
	return err == nil
}

func (r *ownReader) time(e *Event) bool {
	s, ok := r.plain()
	if !ok || e.Time.UnmarshalText(s) != nil || e.Time.IsZero() {
		return false
	}
	e.Time = clock.Canonical(e.Time)
	return e.Time.Year() >= 1 && e.Time.Year() <= 9999
}
