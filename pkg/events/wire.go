package events

import (
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// ErrUnreadable is wrapped when a message of the broker is not an event of this server.
var ErrUnreadable = errors.New("events: not readable")

// Source returns the source URI of the events of a workspace.
func Source(v vocabulary.Vocabulary, workspace uuid.UUID) string {
	return "urn:" + v.String() + ":workspace:" + workspace.String()
}

// ToBroker returns the broker's form of an event. The event must have passed Validate.
func ToBroker(v vocabulary.Vocabulary, e *orchv1.ReceivedEvent, workspace uuid.UUID) (broker.Event, error) {
	return NewWriter(v).Write(e, workspace)
}

// ListToBroker returns the broker's form of several events that are published together. It ends with broker.ErrTooLarge as soon as they are
// too large together, because the number of events does not bound their bytes: all may have the same payload.
func ListToBroker(v vocabulary.Vocabulary, list []*orchv1.ReceivedEvent, workspace uuid.UUID) ([]broker.Event, error) {
	encoded, size := make([]broker.Event, len(list)), 0
	for i, event := range list {
		var err error
		if encoded[i], err = ToBroker(v, event, workspace); err != nil {
			return nil, fmt.Errorf("event %d of %d: %w", i+1, len(list), err)
		}
		if size += len(encoded[i].Data); i > 0 && size > broker.MaxEventBytes {
			return nil, fmt.Errorf("%w: %d of %d events have %d bytes, together at most %d are taken", broker.ErrTooLarge, i+1, len(list), size, broker.MaxEventBytes)
		}
	}
	return encoded, nil
}

// FromBroker decodes the result of ToBroker. The fields of Index are empty; the trace context is that of b.
func FromBroker(b broker.Event) (*orchv1.ReceivedEvent, uuid.UUID, error) {
	e := &orchv1.ReceivedEvent{}
	if err := restjson.Unmarshal(b.Data, e); err != nil {
		return nil, uuid.Nil, fmt.Errorf("%w: event %s: %w", ErrUnreadable, b.ID, err)
	}
	if e.GetId() != b.ID.String() {
		return nil, uuid.Nil, fmt.Errorf("%w: event %s carries the id %s", ErrUnreadable, b.ID, e.GetId())
	}
	if b.TraceParent != "" {
		e.Traceparent = &b.TraceParent
	}
	if b.TraceState != "" {
		e.Tracestate = &b.TraceState
	}
	return e, b.Workspace, nil
}
