package stream

import (
	"context"
	"errors"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/events"
	"github.com/orch-project/orch/pkg/restjson"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

// maxEvent is the largest message of /events/in, in bytes; POST /events takes no larger event either.
const maxEvent = 1_500_000

// eventsIn takes the events of a client: one a message, without acknowledgement but for pings. A pong says that all
// events before its ping are durable. A message that is no event ends the socket; those before it are stored.
func (s *Server) eventsIn(ctx context.Context, k *socket) ending {
	lost := make(chan struct{})
	in := newIntake(s.intake, func(err error) {
		k.log.WarnContext(ctx, "publishing the events of a websocket", "error", err)
		k.end(brokerAway) // Wakes the reader.
		close(lost)
	})
	k.barrier = in.flush
	end := s.readEvents(ctx, k, in)
	if in.finish() != nil {
		<-lost
		return gone
	}
	return end
}

func (s *Server) readEvents(ctx context.Context, k *socket, in *intake) ending {
	for {
		data, end := k.read(ctx)
		if !end.ok() {
			return end
		}
		e, end := s.receive(k, data)
		if !end.ok() {
			return end
		}
		if in.put(e) != nil {
			return gone
		}
	}
}

// receive reads an event as POST /events does.
func (s *Server) receive(k *socket, data []byte) (broker.Event, ending) {
	invalid := func(err error) (broker.Event, ending) {
		return broker.Event{}, ending{websocket.StatusInvalidFramePayloadData, "invalid event: " + err.Error()}
	}
	event := &orchv1.Event{}
	if err := restjson.Unmarshal(data, event); err != nil {
		return invalid(err)
	}
	e, faults, err := events.Receive(s.opts.Words, event, timestamppb.Now(), k.info.Workspace)
	switch {
	case len(faults) > 0:
		return invalid(faults[0])
	case errors.Is(err, broker.ErrTooLarge):
		return broker.Event{}, ending{websocket.StatusMessageTooBig, "the event is too large"}
	case err != nil:
		return invalid(err)
	}
	return e, ending{}
}
