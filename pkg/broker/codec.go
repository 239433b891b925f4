package broker

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/orch-project/orch/pkg/clock"
	"github.com/orch-project/orch/pkg/jsontoken"
)

// Media types of the wire format.
const (
	contentTypeBatch = "application/cloudevents-batch+json"
	contentTypeEvent = "application/cloudevents+json"
)

// appendEvent appends e as a JSON object. It keeps the bytes of Data: encoding/json would compact them and escape HTML.
// e must be valid. The order of the members is the one that ownFrame expects.
func appendEvent(b []byte, e *Event) []byte {
	b = append(b, `{"specversion":"1.0","id":"`...)
	b = appendID(b, e.ID)
	b = append(b, '"')
	b = appendAttribute(b, "source", e.Source)
	b = appendAttribute(b, "type", e.Type)
	b = appendAttribute(b, "subject", e.Subject)
	if !e.Time.IsZero() {
		b = append(b, `,"time":"`...)
		b = clock.Canonical(e.Time).AppendFormat(b, time.RFC3339Nano)
		b = append(b, '"')
	}
	if e.Workspace != uuid.Nil {
		b = append(b, `,"orchworkspace":"`...)
		b = appendID(b, e.Workspace)
		b = append(b, '"')
	}
	b = appendAttribute(b, "traceparent", e.TraceParent)
	b = appendAttribute(b, "tracestate", e.TraceState)
	if len(e.Data) > 0 {
		b = append(b, `,"datacontenttype":"application/json","data":`...)
		b = append(b, bytes.TrimSpace(e.Data)...)
	}
	return append(b, '}')
}

// appendAttribute appends a member; it omits an empty value.
func appendAttribute(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	return jsontoken.AppendString(b, value)
}

// appendID appends id.String().
func appendID(b []byte, id uuid.UUID) []byte {
	for i, part := range [...][]byte{id[:4], id[4:6], id[6:8], id[8:10], id[10:]} {
		if i > 0 {
			b = append(b, '-')
		}
		b = hex.AppendEncode(b, part)
	}
	return b
}

// wireEvent is the JSON form. Unknown attributes are dropped.
type wireEvent struct {
	SpecVersion     string          `json:"specversion"`
	ID              string          `json:"id"`
	Source          string          `json:"source"`
	Type            string          `json:"type"`
	Subject         string          `json:"subject"`
	Time            string          `json:"time"`
	Workspace       string          `json:"orchworkspace"`
	DataContentType string          `json:"datacontenttype"`
	Data            json.RawMessage `json:"data"`
	DataBase64      json.RawMessage `json:"data_base64"`
	TraceParent     string          `json:"traceparent"`
	TraceState      string          `json:"tracestate"`
}

// decodeMessage decodes the frame of a message and appends its events. They may share the memory of the message, and a memory
// that is not nil.
func decodeMessage(to []Event, msg jetstream.Msg, memory *frameMemory) ([]Event, error) {
	frame, err := decompress(memory, msg.Headers(), msg.Data())
	if err != nil {
		return to, err
	}
	return decodeFrame(to, frame)
}

// decodeFrame decodes a CloudEvents JSON batch and appends its events. One bad event fails the whole frame. The events may share
// the frame's memory.
func decodeFrame(to []Event, frame []byte) ([]Event, error) {
	if events, ok := ownFrame(to, frame); ok {
		return events, nil
	}
	return foreignFrame(to, frame)
}

// foreignFrame decodes a batch of any sender.
func foreignFrame(to []Event, frame []byte) ([]Event, error) {
	var wire []wireEvent
	if err := json.Unmarshal(frame, &wire); err != nil {
		return to, fmt.Errorf("decode frame: %w", err)
	}
	events := slices.Grow(to, len(wire))
	for i := range wire {
		e, err := wire[i].event()
		if err != nil {
			return to, fmt.Errorf("decode event %d of frame: %w", i, err)
		}
		events = append(events, e)
	}
	return events, nil
}

// decodeEvent decodes one CloudEvent.
func decodeEvent(data []byte) (Event, error) {
	var wire wireEvent
	if err := json.Unmarshal(data, &wire); err != nil {
		return Event{}, fmt.Errorf("decode event: %w", err)
	}
	return wire.event()
}

func (w *wireEvent) event() (Event, error) {
	if w.SpecVersion != "1.0" {
		return Event{}, fmt.Errorf("%w: specversion %q", ErrInvalidEvent, w.SpecVersion)
	}
	if w.DataBase64 != nil || (w.DataContentType != "" && w.DataContentType != "application/json") {
		return Event{}, fmt.Errorf("%w: data is not JSON", ErrInvalidEvent)
	}
	e := Event{
		Source:      w.Source,
		Type:        w.Type,
		Subject:     w.Subject,
		Data:        w.Data,
		TraceParent: w.TraceParent,
		TraceState:  w.TraceState,
	}
	var err error
	if e.ID, err = uuid.Parse(w.ID); err != nil {
		return Event{}, fmt.Errorf("%w: id: %w", ErrInvalidEvent, err)
	}
	if w.Workspace != "" {
		if e.Workspace, err = uuid.Parse(w.Workspace); err != nil {
			return Event{}, fmt.Errorf("%w: orchworkspace: %w", ErrInvalidEvent, err)
		}
	}
	if w.Time != "" {
		if e.Time, err = time.Parse(time.RFC3339Nano, w.Time); err != nil {
			return Event{}, fmt.Errorf("%w: time: %w", ErrInvalidEvent, err)
		}
	}
	if err := e.Validate(); err != nil {
		return Event{}, err
	}
	return e.canonical(), nil
}
