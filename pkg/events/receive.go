package events

import (
	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/vocabulary"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// Receive checks an event that a client sent by the limits that the API documents, and returns it as the broker carries
// it. Faults are the client's, and an error means that the event cannot be written.
func Receive(
	v vocabulary.Vocabulary, e *orchv1.Event, received *timestamppb.Timestamp, workspace uuid.UUID,
) (broker.Event, []Fault, error) {
	if faults := Validate(v, e, DefaultLimits()); len(faults) > 0 {
		return broker.Event{}, faults, nil
	}
	event, err := ToBroker(v, &orchv1.ReceivedEvent{
		Occurred: e.GetOccurred(), Event: e.GetEvent(), Resource: e.GetResource(), Related: e.GetRelated(),
		Payload: e.GetPayload(), Id: e.GetId(), Follows: e.Follows, Received: received,
	}, workspace)
	return event, nil, err
}
