package stream

import (
	"context"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/orch-project/orch/pkg/broker"
	"github.com/orch-project/orch/pkg/restjson"
	"github.com/orch-project/orch/pkg/rpc"
	orchv1 "github.com/orch-project/orch/proto/gen/orch/v1"
)

const (
	pageOfPast = 250
	// maxLag bounds the wait for the store to reach the broker's position when a subscriber joins.
	maxLag = 10 * time.Second
	// overlap bounds the assumed clock difference between this server and the senders of events.
	overlap = time.Minute
	// shownFor is how long the feed may still deliver an event that the past contained.
	shownFor = time.Minute
)

// past sends one subscriber the stored events.
//
// An event published before the subscriber joined the feed may not be stored yet, and the feed will not deliver it. So
// past waits until the store has caught up with the moment of joining, and then reads it.
type past struct {
	caller rpc.Caller
	broker *broker.Conn
	filter *orchv1.EventFilter
	since  time.Time // When the subscriber joined, or earlier.

	ids   map[uuid.UUID]struct{} // Sent events that the feed may deliver too.
	until time.Time              // When ids is dropped.
}

// show writes the stored events to the socket, oldest first, until broken reports the end of the subscription.
func (p *past) show(ctx context.Context, k *socket, broken func() closeReason) closeReason {
	waiting, cancel := context.WithTimeout(ctx, maxLag)
	err := p.broker.WaitHandled(waiting, broker.DurablePersist)
	cancel()
	if err != nil {
		k.log.WarnContext(ctx, "failed to wait until the store reaches the broker's position", "error", err)
		return storeAway
	}
	p.ids = map[uuid.UUID]struct{}{}
	request := &orchv1.ScanEventsRequest{Filter: proto.CloneOf(p.filter), Limit: pageOfPast}
	if request.Filter.Occurred.Until == nil {
		request.Filter.Occurred.Until = timestamppb.New(p.since.Add(maxBackfill)) // Clients' clocks may be ahead.
	}
	var buffer []byte
	for {
		response, _, err := p.caller.Call(ctx, orchv1.EventService_ScanEvents_FullMethodName, request)
		if err != nil {
			return pastCloseReason(ctx, k, err)
		}
		page := response.(*orchv1.ReceivedEventList).GetEvents()
		for _, e := range page {
			if buffer, err = restjson.Append(buffer[:0], e); err != nil {
				k.log.ErrorContext(ctx, "failed to encode a stored event", "event", e.GetId(), "error", err)
				continue
			}
			if k.write(ctx, eventMessage(buffer)) != nil {
				return closedByClient
			}
			p.remember(e)
		}
		if end := broken(); !end.ok() {
			return end
		}
		if len(page) == 0 { // A page of large events is shorter than the limit.
			p.until = time.Now().Add(shownFor)
			return closeReason{}
		}
		request.After = page[len(page)-1]
	}
}

func (p *past) remember(e *orchv1.ReceivedEvent) {
	if e.GetReceived().AsTime().Before(p.since.Add(-overlap)) {
		return
	}
	if id, err := uuid.Parse(e.GetId()); err == nil {
		p.ids[id] = struct{}{}
	}
}

// shown reports whether the past contained an event of the feed.
func (p *past) shown(id uuid.UUID) bool {
	if p.ids == nil {
		return false
	}
	_, again := p.ids[id]
	if time.Now().After(p.until) {
		p.ids = nil
	}
	return again
}

// pastCloseReason is how a socket closes when the store cannot be read.
func pastCloseReason(ctx context.Context, k *socket, err error) closeReason {
	switch {
	case ctx.Err() != nil:
		return closedByClient
	case status.Code(err) == codes.InvalidArgument:
		return closeReason{websocket.StatusProtocolError, "Invalid filter: " + status.Convert(err).Message()}
	}
	k.log.WarnContext(ctx, "failed to read stored events for a subscriber", "error", err)
	return storeAway
}
