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
	// maxLag is how long the store may be behind the broker when a subscriber comes.
	maxLag = 10 * time.Second
	// overlap is by how much the clocks of those who stamp events may differ from ours.
	overlap = time.Minute
	// shownFor is how long after the past was shown an event of it may still come by the feed.
	shownFor = time.Minute
)

// past shows one subscriber what the store has.
//
// What was published before the subscriber joined the feed may not be in the store yet, and will not come by the feed:
// so the store is given the time to catch up with the moment of joining before it is read.
type past struct {
	caller rpc.Caller
	broker *broker.Conn
	filter *orchv1.EventFilter
	since  time.Time // When the subscriber joined, or before.

	ids   map[uuid.UUID]struct{} // Shown events that the feed may bring too.
	until time.Time              // When they are forgotten.
}

// show writes the events of the past to the socket, oldest first, until broken tells that the subscription has ended.
func (p *past) show(ctx context.Context, k *socket, broken func() ending) ending {
	waiting, cancel := context.WithTimeout(ctx, maxLag)
	err := p.broker.WaitHandled(waiting, broker.DurablePersist)
	cancel()
	if err != nil {
		k.log.WarnContext(ctx, "waiting for the store to catch up with the broker", "error", err)
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
			return pastEnding(ctx, k, err)
		}
		page := response.(*orchv1.ReceivedEventList).GetEvents()
		for _, e := range page {
			if buffer, err = restjson.Append(buffer[:0], e); err != nil {
				k.log.ErrorContext(ctx, "writing an event of the past", "event", e.GetId(), "error", err)
				continue
			}
			if k.write(ctx, eventMessage(buffer)) != nil {
				return gone
			}
			p.remember(e)
		}
		if end := broken(); !end.ok() {
			return end
		}
		if len(page) < pageOfPast {
			p.until = time.Now().Add(shownFor)
			return ending{}
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

// shown tells whether an event of the feed has been shown already.
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

// pastEnding is how a socket ends on which the store could not be read.
func pastEnding(ctx context.Context, k *socket, err error) ending {
	switch {
	case ctx.Err() != nil:
		return gone
	case status.Code(err) == codes.InvalidArgument:
		return ending{websocket.StatusProtocolError, "Invalid filter: " + status.Convert(err).Message()}
	}
	k.log.WarnContext(ctx, "reading the past for a subscriber", "error", err)
	return storeAway
}
