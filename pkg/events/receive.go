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

// Receiver takes the events of one workspace in, one after the other. It uses its memory again for each, so it serves
// one goroutine.
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

// Read is Take for an event as a client sent it. Bad input gives restjson's error.
func (r *Receiver) Read(text []byte, received time.Time) (broker.Event, []FieldError, error) {
	if err := restjson.Replace(text, &r.read); err != nil {
		return broker.Event{}, nil, err
	}
	return r.Take(&r.read, received)
}

// Take checks an event that a client sent by the limits that the API documents, and returns it as the broker carries it;
// its data is the receiver's until the next call. Field errors are the client's, and an error means that the event cannot be
// written.
func (r *Receiver) Take(e *orchv1.Event, received time.Time) (broker.Event, []FieldError, error) {
	limits := DefaultLimits()
	most := limits.Bytes
	limits.Bytes = 0 // It shows when the event is written.
	if fieldErrors := Validate(r.writer.vocab, e, limits); len(fieldErrors) > 0 {
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
	if len(b.Data) > most && !fits(e, most) { // What the server adds is not the client's error.
		return broker.Event{}, []FieldError{tooLarge(most)}, nil
	}
	return b, nil, nil
}
