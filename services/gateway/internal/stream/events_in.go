package stream

import (
	"context"
	"errors"
	"time"

	"github.com/coder/websocket"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/events"
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

// readEvents reads until something ends it; the socket's own end wakes it, so no context needs to.
func (s *Server) readEvents(ctx context.Context, k *socket, in *intake) ending {
	ctx = context.WithoutCancel(ctx)
	receiver := events.NewReceiver(s.opts.Vocabulary, k.info.Workspace)
	var text []byte
	for {
		var end ending
		if text, end = k.readInto(ctx, text); !end.ok() {
			return end
		}
		e, end := receive(receiver, text)
		if !end.ok() {
			return end
		}
		if end, err := in.put(&e); err != nil {
			return end
		}
		if cap(text) > maxKept {
			text = nil
		}
	}
}

// maxKept is how much memory a socket keeps from one event to the next, in bytes.
const maxKept = 16 << 10

// receive reads an event as POST /events does.
func receive(r *events.Receiver, text []byte) (broker.Event, ending) {
	e, fieldErrors, err := r.Read(text, time.Now())
	switch {
	case len(fieldErrors) > 0:
		return broker.Event{}, invalidEvent(fieldErrors[0])
	case err != nil:
		return broker.Event{}, invalidEvent(err)
	}
	return e, ending{}
}

func invalidEvent(err error) ending {
	if errors.Is(err, broker.ErrTooLarge) {
		return ending{websocket.StatusMessageTooBig, "the event is too large"}
	}
	return ending{websocket.StatusInvalidFramePayloadData, "invalid event: " + err.Error()}
}
