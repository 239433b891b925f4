package events

import (
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Receiver ingests the events of one workspace. It reuses its memory, so it serves one goroutine.
type Receiver struct {
	writer    *Writer
	workspace uuid.UUID
	read      orchv1.Event
	received  orchv1.ReceivedEvent
}

// NewReceiver returns a receiver of the events of a workspace.
func NewReceiver(v vocabulary.Vocabulary, workspace uuid.UUID) *Receiver {
	return &Receiver{
		writer:    NewWriter(v),
		workspace: workspace,
		received:  orchv1.ReceivedEvent{Received: &timestamppb.Timestamp{}},
	}
}

// Read is Take for an encoded event. Bad input returns restjson's error.
func (r *Receiver) Read(text []byte, received time.Time) (broker.Event, []FieldError, error) {
	if err := restjson.Replace(text, &r.read); err != nil {
		return broker.Event{}, nil, err
	}
	return r.Take(&r.read, received)
}

// Take validates an event of a client with the documented limits, and returns the broker's form. The receiver owns its
// data until the next call. Field errors are the client's; an error means that the event cannot be encoded.
func (r *Receiver) Take(e *orchv1.Event, received time.Time) (broker.Event, []FieldError, error) {
	limits := DefaultLimits()
	most := limits.Bytes
	limits.Bytes = 0 // The size is known after encoding.
	fieldErrors := Validate(r.writer.vocab, e, limits)
	fieldErrors = append(fieldErrors, CheckNames(r.writer.vocab, e.GetEvent(), e.GetResource(), e.GetRelated())...)
	if len(fieldErrors) > 0 {
		return broker.Event{}, fieldErrors, nil
	}
	to := &r.received
	to.Occurred, to.Event, to.Resource, to.Related = e.GetOccurred(), e.GetEvent(), e.GetResource(), e.GetRelated()
	to.Payload, to.Id, to.Follows = e.GetPayload(), e.GetId(), e.Follows
	to.Received.Seconds, to.Received.Nanos = received.Unix(), int32(received.Nanosecond())
	b, err := r.writer.Write(to, r.workspace)
	if err != nil {
		return broker.Event{}, nil, err
	}
	if len(b.Data) > most && !fits(e, most) { // The fields that the server adds do not count.
		return broker.Event{}, []FieldError{tooLarge(most)}, nil
	}
	return b, nil, nil
}
